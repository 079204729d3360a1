import { describe, expect, test } from 'vitest';
import { conditionReasons } from '../../src/api/conditions.ts';
import { toStructuralSchema } from '../../src/api/schema/structural-schema.ts';
import type { Step } from '../../src/engine/step.ts';
import { platforms } from '../../src/platforms/index.ts';
import { joinSteps } from '../../src/talos/join-steps.ts';
import { isTestFile, readProjectFile, sourceFiles } from './source-tree.ts';

const kebab = /^[a-z]+(-[a-z0-9]+)*$/;
const namesOf = (steps: readonly Pick<Step<never>, 'name' | 'formerNames'>[]) =>
  steps.flatMap((step) => [step.name, ...(step.formerNames ?? [])]);

test('platforms have different names that need no escape in CEL', () => {
  const names = platforms.map((platform) => platform.name);
  expect(new Set(names).size).toBe(names.length);
  for (const name of names) expect(name).toMatch(/^[a-z][a-zA-Z0-9]*$/);
});

describe.each(platforms.map((platform) => ({ name: platform.name, platform })))('platform $name', ({ platform }) => {
  const provision = [platform.provision, joinSteps, platform.postJoin].flatMap(namesOf);
  const release = namesOf(platform.release);
  const repair = namesOf(platform.repair?.steps ?? []);

  test('names of steps are part of the API: kebab-case and unique', () => {
    for (const name of [...provision, ...release, ...repair]) expect(name).toMatch(kebab);
    expect(new Set(provision).size).toBe(provision.length);
    expect(new Set(release).size).toBe(release.length);
    expect([...release, ...repair].filter((name) => provision.includes(name))).toEqual([]);
    expect(repair.filter((name) => release.includes(name))).toEqual([]);
  });

  test('a step name fits into a column of kubectl and names one action', () => {
    for (const name of [...provision, ...release, ...repair]) {
      expect(name.length).toBeLessThanOrEqual(24);
      expect(name).not.toMatch(/-and-/);
    }
  });

  test('has steps to provision and to release', () => {
    expect(platform.provision.length).toBeGreaterThan(0);
    expect(platform.release.length).toBeGreaterThan(0);
  });

  test('its section is valid in the CRD', () => {
    expect(toStructuralSchema(platform.config.schema)).toMatchObject({
      type: 'object',
      description: expect.any(String),
    });
  });

  test('a section that is no object is rejected before any step runs', async () => {
    for (const bad of [undefined, null, 42, 'x', [], {}]) {
      expect(platform.config.schema.safeParse(bad).success).toBe(false);
      expect(() => platform.config.credentialsRef(bad, undefined)).toThrow();
    }
  });

  test('its sizes describe machines, unless others make them', () => {
    if (platform.isExternal) expect(platform.sizes({ managedBy: 'others' })).toHaveLength(1);
    else expect(toStructuralSchema(platform.config.schema)).toHaveProperty('properties.sizes.items.properties.name');
  });

  test('its reasons have the format of condition reasons', () => {
    const folder = `src/platforms/${platform.name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    const given = sourceFiles(folder)
      .filter((path) => !isTestFile(path))
      .flatMap((path) =>
        [...readProjectFile(path).matchAll(/(?:\b(?:fail|drift)\(|reason: )'([^']*)'/g)].map((match) => match[1] ?? ''),
      );
    for (const reason of given) expect(reason).toMatch(/^[A-Z][A-Za-z0-9]*$/);
  });
});

test('the reasons of the table are UpperCamelCase and described in sentences', () => {
  for (const [reason, about] of Object.entries(conditionReasons)) {
    expect(reason).toMatch(/^[A-Z][A-Za-z0-9]*$/);
    expect(about, reason).toMatch(/^[A-Z].*\.$/);
  }
});

const hostPlatforms = platforms.flatMap(({ name, hosts }) => (hosts ? [{ name, ...hosts.schemas }] : []));

test.each(hostPlatforms)('a Host of $name may have an empty section, and its ID has a form', ({ spec, serverID }) => {
  expect(spec.safeParse({}).success).toBe(true);
  expect(serverID.pattern.source).toMatch(/^\^.*\$$/);
  expect(serverID.pattern.test('')).toBe(false);
  expect(serverID.message).toMatch(/^serverID must /);
});
