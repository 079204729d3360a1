import { describe, expect, it } from 'vitest';
import { findSchemaProblems, parseValueSchema } from './value-schema.ts';

const shape = parseValueSchema(
  'name mtu# up? wait@ gateway^ subnet/ crt= config~ mode(fast|very slow) links[] ports[#] labels{} features{?} ' +
    'routes[gateway^ metric#] mirrors{*endpoints[]} deep{er{est?}}',
);

describe('the short form of a schema', () => {
  it.each<[string, unknown]>([
    ['nothing', {}],
    [
      'scalars',
      { name: 'x', mtu: 1500, up: false, wait: '1h30m', gateway: 'fd00::1', subnet: '10.0.0.0/8', crt: 'eA==' },
    ],
    ['a number as a text, as a YAML parser reads it', { name: 5 }],
    ['anything', { config: [{ a: 1 }] }],
    ['a word of several', { mode: 'very slow' }],
    ['lists and maps', { links: ['a'], ports: [1, 2], labels: { 'a/b': 'c' }, features: { x: true } }],
    [
      'nested values',
      { routes: [{ metric: 1 }], mirrors: { 'docker.io': { endpoints: ['x'] } }, deep: { er: { est: true } } },
    ],
    ['null', { name: null, links: [null], deep: { er: null } }],
    ['values that a patch deletes', { routes: [{ network: 'x', $patch: 'delete' }], deep: { $patch: 'delete' } }],
  ])('accepts %s', (_, value) => {
    expect(findSchemaProblems(value, shape)).toEqual([]);
  });

  it.each<[unknown, string]>([
    [{ nam: 'x' }, 'nam does not exist'],
    [{ routes: [{}, { gw: 'x' }] }, 'routes[1].gw does not exist'],
    [{ mirrors: { 'docker.io': { url: 'x' } } }, 'mirrors.docker.io.url does not exist'],
    [{ name: ['x'] }, 'name must be a string'],
    [{ mtu: '1500' }, 'mtu must be a whole number, without quotes'],
    [{ mtu: 1.5 }, 'mtu must be a whole number, without quotes'],
    [{ up: 'yes' }, 'up must be true or false, without quotes'],
    [{ wait: 'a while' }, 'wait must be a duration like 30s'],
    [{ gateway: '10.0.0.0/8' }, 'gateway must be an IP address'],
    [{ subnet: '10.0.0.1' }, 'subnet must be a subnet like 192.0.2.0/24'],
    [{ crt: '-----BEGIN' }, 'crt must be in base64'],
    [{ mode: 'faster' }, 'mode must be one of fast, very slow'],
    [{ links: 'a' }, 'links must be a list'],
    [{ ports: [1, 'x'] }, 'ports[1] must be a whole number, without quotes'],
    [{ labels: ['a'] }, 'labels must be a map'],
    [{ features: { x: 1 } }, 'features.x must be true or false, without quotes'],
    [{ deep: { er: 'x' } }, 'deep.er must be a map'],
    [{ constructor: 1 }, 'constructor does not exist'],
    [{ deep: { '': 1 } }, 'deep."" does not exist'],
    [{ 'a b': 1 }, '"a b" does not exist'],
  ])('rejects %j', (value, sentence) => {
    expect(findSchemaProblems(value, shape)).toEqual([sentence]);
  });

  it('is itself rejected when it is invalid', () => {
    expect(() => parseValueSchema('name] mtu#')).toThrow('unexpected ] mtu#');
    expect(() => parseValueSchema('routes[gateway')).toThrow('nothing closes');
  });
});
