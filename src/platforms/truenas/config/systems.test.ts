import { describe, expect, it } from 'vitest';
import { truenasErrorCodes } from '../error-codes.ts';
import { truenas } from '../index.ts';
import { TrueNasSection } from './section.ts';
import { systemFailureDomains, systemsOf } from './systems.ts';

const sizes = [{ name: 'small', cpus: 2, memoryMiB: 4096, diskGiB: 40 }];
const system = (name: string, more: object = {}) => ({
  ...{ name, url: `${name}.example.org`, credentialsRef: { name: `key-${name}` }, pool: 'tank', bridge: 'br0' },
  ...more,
});
const { name: _, ...one } = system('nas');
const single = { ...one, sizes };
const several = (...systems: readonly object[]) => ({ sizes, systems });
const two = several(
  system('a'),
  system('b', { pool: 'fast', datasetPrefix: 'k8s/talos', tlsFingerprint: 'a'.repeat(64) }),
);

describe('a section', () => {
  it('of one system is that system', () => {
    const section = TrueNasSection.parse(single);
    expect(systemFailureDomains.names(section)).toEqual([]);
    expect(systemFailureDomains.at(section, undefined, {})).toEqual({ ...single, datasetPrefix: 'talos' });
    expect(systemFailureDomains.fieldAt(section, undefined, 'truenas.pool')).toBe('truenas.pool');
  });

  it('T58: of several is each of them by its name, with the shared sizes', () => {
    const section = TrueNasSection.parse({ ...two, datasetPrefix: 'clusters' });
    expect(systemFailureDomains.names(section)).toEqual(['a', 'b']);
    expect(systemFailureDomains.at(section, 'a', {})).toMatchObject({
      url: 'a.example.org',
      datasetPrefix: 'clusters',
      sizes,
    });
    expect(systemFailureDomains.at(section, 'b', {})).toMatchObject({
      pool: 'fast',
      datasetPrefix: 'k8s/talos',
      sizes,
    });
    expect(systemsOf(section).map(({ path }) => path)).toEqual(['truenas.systems[0]', 'truenas.systems[1]']);
    expect(truenas.config.foreignHosts(two)).toEqual([
      { field: 'truenas.systems[0].url', host: 'a.example.org' },
      { field: 'truenas.systems[1].url', host: 'b.example.org' },
    ]);
    expect(truenas.config.credentialsRef(two, 'b')).toBe('key-b');
  });

  it.each([
    ['truenas.pool', 'truenas.systems[1].pool'],
    ['truenas.datasetPrefix', 'truenas.systems[1].datasetPrefix'],
    ['truenas.credentialsRef.name', 'truenas.systems[1].credentialsRef.name'],
    ['truenas.sizes', 'truenas.sizes'],
    ['network.addressPool', 'network.addressPool'],
  ])('names %s of its second system as %s', (field, wanted) => {
    expect(systemFailureDomains.fieldAt(TrueNasSection.parse(two), 'b', field)).toBe(wanted);
  });

  it('names the shared prefix for a system without its own', () => {
    expect(systemFailureDomains.fieldAt(TrueNasSection.parse(two), 'a', 'truenas.datasetPrefix')).toBe(
      'truenas.datasetPrefix',
    );
  });

  it.each([
    ['both forms', { ...single, systems: two.systems }, 'systems', /the entries of systems/],
    ['something of one beside the list', { ...two, pool: 'tank' }, 'systems', /the entries of systems/],
    ['neither', { sizes }, 'url', /truenas\.url is required/],
    ['half of one', { sizes, url: 'nas.example.org' }, 'credentialsRef', /is required/],
    ['an empty list', several(), 'systems', /./],
    ['two systems of a name', several(system('a'), system('a')), 'systems', /must be unique/],
    ['a system with two proofs', several(system('a', { caBundle: '-', tlsFingerprint: '-' })), 'systems.0', /./],
    ['a system over plain text', several(system('a', { url: 'ws://a' })), 'systems.0.url', /revokes/],
    ['a system with sizes of its own', several(system('a', { sizes })), 'systems.0', /sizes/],
  ])('with %s is refused', (_name, section, path, text) => {
    const { error } = TrueNasSection.safeParse(section);
    const issue = error?.issues.find((found) => found.path.join('.').startsWith(path));
    expect(issue?.message).toMatch(text);
  });
});

describe('the system of a machine', () => {
  const pool = (section: object, failureDomain: string | undefined, facts: Record<string, string> = {}) =>
    systemFailureDomains.at(TrueNasSection.parse(section), failureDomain, facts).url;

  it('is the chosen one, whatever the order of the list now', () => {
    expect(pool(several(system('b'), system('a')), 'a')).toBe('a.example.org');
  });

  it('is found by its address when there was no list at its creation', () => {
    expect(pool(two, undefined, { system: 'b.example.org' })).toBe('b.example.org');
  });

  it('is the first one before anything is created, and the only one when the list was removed', () => {
    expect(pool(two, undefined)).toBe('a.example.org');
    expect(pool(single, 'a')).toBe('nas.example.org');
    expect(pool(single, 'a', { system: 'nas.example.org' })).toBe('nas.example.org');
  });

  it.each([
    ['was taken from the list', two, 'gone', 'The machine is on gone; the configured systems are a, b.'],
    [
      'was renamed',
      several(system('west', { url: 'gone.example.org' })),
      'gone',
      'The machine is on gone, gone.example.org; the configured systems are west.',
    ],
    [
      'had no name and is not in the list',
      two,
      undefined,
      'The machine is on gone.example.org; the configured systems are a, b.',
    ],
    [
      'was one of a list, and is not the only one now',
      single,
      'a',
      'The machine is on a, gone.example.org; the configured systems are nas.example.org.',
    ],
  ])('is reported where it %s: its machine does not count as gone', (_, section, failureDomain, text) => {
    const facts = text.includes('gone.example.org') ? { system: 'gone.example.org' } : {};
    const { message } = truenasErrorCodes.TRUENAS_SYSTEM_UNKNOWN;
    expect(() => pool(section, failureDomain, facts)).toThrow(
      `${message} ${text} Restore it until the machine is deleted.`,
    );
  });

  it('T58: has the Secret that its own entry names, also when others name none', () => {
    expect(truenas.config.credentialsRef(two, undefined, { system: 'b.example.org' })).toBe('key-b');
    expect(() => truenas.config.credentialsRef(two, 'c')).toThrow(truenasErrorCodes.TRUENAS_SYSTEM_UNKNOWN.message);
  });
});
