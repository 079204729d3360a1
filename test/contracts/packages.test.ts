import { satisfies } from 'semver';
import { describe, expect, test } from 'vitest';
import { readProjectFile } from './source-tree.ts';

interface LockedPackage {
  readonly version: string;
  readonly engines?: { readonly node?: string };
}

const manifest = JSON.parse(readProjectFile('package.json')) as {
  readonly engines: { readonly node: string };
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
};
const { packages } = JSON.parse(readProjectFile('package-lock.json')) as {
  readonly packages: Readonly<Record<string, LockedPackage>>;
};
const [tables = ''] = readProjectFile('docs/development/dependencies.md').split('\n## What changes');
const oldestNode = '20.19.0';

/** Packages that declare a newer Node and work on the oldest one, with the reason. */
const worksAnyway: Readonly<Record<string, string>> = {
  'node_modules/cookie@2.0.2': 'an ES module that fastify loads by require, which Node 20.19 can',
};

describe('the packages', () => {
  test('all of the tree accept the oldest Node that is supported', () => {
    expect(manifest.engines.node).toBe(`>=${oldestNode.replace(/\.0$/, '')}`);
    const tooNew = Object.entries(packages)
      .filter(([, { engines }]) => !satisfies(oldestNode, engines?.node ?? '*'))
      .map(([path, { version }]) => `${path}@${version}`);
    expect(tooNew).toEqual(Object.keys(worksAnyway));
  });

  test('are named on the page of dependencies, with the installed version', () => {
    const named = Object.fromEntries(
      [...tables.matchAll(/^\| `([^`]+)` \| (\d[^ |]*) \|/gm)].map(([, name = '', version = '']) => [name, version]),
    );
    expect(named).toEqual({ ...manifest.dependencies, ...manifest.devDependencies });
  });
});
