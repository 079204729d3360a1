import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { type Host, HostSpec } from '../../api/host.ts';
import type { AccountServer } from '../../engine/capabilities/hosts.ts';
import { formatHostManifests } from './host-manifests.ts';

const server = (id: string, more: Partial<AccountServer> = {}): AccountServer => ({
  ...{ id, name: 'rack-7', address: '203.0.113.41', product: 'AX42', location: 'FSN1-DC18', warnings: [] },
  ...more,
});
const known = (name: string, serverID: string) =>
  ({ metadata: { name }, spec: { serverID, hetznerRobot: {} } }) as unknown as Host;
const manifests = (servers: readonly AccountServer[], hosts: readonly Host[] = []) =>
  formatHostManifests('hetznerRobot', servers, hosts);

const read = (text: string): Host[] =>
  parseAllDocuments(text).flatMap((document) => {
    expect(document.errors).toEqual([]);
    return (document.toJS() as Host | null) ?? [];
  });

describe('servers as Hosts', () => {
  it('are in maintenance, contain their expected properties, and can be selected by label', () => {
    expect(read(manifests([server('7')]))).toEqual([
      {
        apiVersion: 'talos.clusters.openmcp.cloud/v1alpha1',
        kind: 'Host',
        metadata: {
          name: 'server-7',
          labels: {
            'talos.clusters.openmcp.cloud/product': 'AX42',
            'talos.clusters.openmcp.cloud/location': 'FSN1-DC18',
          },
        },
        spec: {
          serverID: '7',
          hetznerRobot: {},
          expect: { address: '203.0.113.41', product: 'AX42' },
          maintenance: true,
          description: 'rack-7',
        },
      },
    ]);
  });

  it('precede a Host with a comment about warnings, whatever the server is called', () => {
    const text = manifests([server('7', { warnings: ['It is called a\n---\nb: c.', 'It was cancelled.'] })]);
    expect(text.split('\n')[0]).toBe('# It is called a --- b: c. It was cancelled.');
    expect(read(text)).toHaveLength(1);
  });

  it.each([' ', '\u00a0', '\n', '\ufeff'])('omit blank values: %j', (blank) => {
    const [host] = read(manifests([server('7', { name: blank, product: blank })]));
    expect(host?.spec).toEqual({
      ...{ serverID: '7', hetznerRobot: {} },
      ...{ expect: { address: '203.0.113.41' }, maintenance: true },
    });
    const [called] = read(manifests([server('7', { name: `${blank}rack-7${blank}` })]));
    expect(called?.spec.description).toBe('rack-7');
  });

  it('are left out and counted when a Host exists or the server has no properties', () => {
    const vague = server('9', { address: undefined, product: '' });
    const text = manifests([server('7'), server('8'), vague], [known('mine', '7')]);
    expect(read(text).map(({ metadata }) => metadata.name)).toEqual(['server-8']);
    expect(text).toContain('# Omitted: 1 server that has a Host.');
    expect(text).toContain('# Omitted: 1 server that has no address and no product (9).');
  });

  it('have names that no other Host has', () => {
    const taken = [known('server-7', '1'), known('server-7-2', '2')];
    expect(read(manifests([server('7')], taken))[0]?.metadata.name).toBe('server-7-3');
    const names = read(manifests([server('Rack_7/'), server('rack-7'), server('x'.repeat(253))]));
    expect(names.map(({ metadata }) => metadata.name)).toEqual([
      'server-rack-7',
      'server-rack-7-2',
      `server-${'x'.repeat(49)}`,
    ]);
  });

  it('are reported as none when there are none', () => {
    expect(manifests([])).toBe('# The account has no servers.');
  });

  it('are valid Hosts, whatever Robot returns', () => {
    const any = fc.record({
      ...{
        id: fc.integer({ min: 1, max: 2 ** 31 - 1 }).map(String),
        name: fc.string({ unit: 'binary', maxLength: 1100 }),
      },
      ...{
        address: fc.option(fc.string({ maxLength: 50 }), { nil: undefined }),
        product: fc.string({ maxLength: 70 }),
      },
      ...{
        location: fc.string({ unit: 'grapheme', maxLength: 70 }),
        warnings: fc.array(fc.string(), { maxLength: 2 }),
      },
    });
    fc.assert(
      fc.property(any, (one) => {
        for (const { spec, metadata } of read(manifests([one]))) {
          expect(HostSpec.safeParse(spec).error).toBeUndefined();
          for (const value of Object.values(metadata.labels ?? {})) {
            expect(value).toMatch(/^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/);
          }
        }
      }),
    );
  });
});
