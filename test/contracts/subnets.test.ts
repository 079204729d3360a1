import { expect, test } from 'vitest';
import { isTestFile, readProjectFile, sourceFiles } from './source-tree.ts';

/** Loopback /24 networks of simulated nodes, written out in a test file. Port numbers are fixed, so two files that run together collide. */
const subnetsOf = (path: string): ReadonlySet<string> =>
  new Set([...readProjectFile(path).matchAll(/\b127\.4[23]\.\d+\b/g)].map(([subnet]) => subnet));

/** Networks whose single addresses are shared on purpose; no node of a test file listens in all of them. */
const shared = ['127.42.0', '127.42.1', '127.42.9', '127.42.60', '127.42.159', '127.43.40'];

test('no two test files use one subnet: they run at the same time', () => {
  const users = new Map<string, string[]>();
  for (const path of sourceFiles('test').filter(isTestFile))
    for (const subnet of subnetsOf(path)) users.set(subnet, [...(users.get(subnet) ?? []), path]);
  expect([...users].filter(([subnet, paths]) => paths.length > 1 && !shared.includes(subnet))).toEqual([]);
});

test('the subnets that the fault sweep computes are used by no other test file', () => {
  const robot = 'test/e2e/fault-sweep/robot.test.ts';
  const faults = 'test/e2e/fault-sweep/faults.test.ts';
  const computed = (first: number, count: number) => Array.from({ length: count }, (_, i) => `127.42.${first + i}`);
  for (const [path, subnets] of [
    [robot, computed(172, 8)],
    [faults, computed(110, 6)],
  ] as const) {
    const others = sourceFiles('test').filter((other) => isTestFile(other) && other !== path);
    const taken = others.filter((other) => subnets.some((subnet) => subnetsOf(other).has(subnet)));
    expect(taken).toEqual([]);
  }
});
