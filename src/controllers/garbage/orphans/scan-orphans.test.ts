import { describe, expect, it } from 'vitest';
import { aMachine } from '../../../../test/support/fixtures/builders.ts';
import type { Orphan } from '../../../engine/capabilities/orphans.ts';
import { TrueNasError } from '../../../platforms/truenas/error-codes.ts';
import type { Services } from '../../shared/services.ts';
import { type OrphanScope, scanOrphans } from './scan-orphans.ts';

const machine = aMachine();
const { name } = machine.metadata;
const at = (failureDomain: string | undefined, ...orphans: Orphan[]): OrphanScope =>
  ({
    platform: 'truenas',
    orphans: { find: async () => orphans, remove: [] },
    check: { failureDomain, signal: new AbortController().signal },
  }) as unknown as OrphanScope;
const unresponsive = (failureDomain: string): OrphanScope => ({
  ...at(failureDomain),
  orphans: { find: () => Promise.reject(new TrueNasError('TRUENAS_UNREACHABLE')), remove: [] },
});
const left = (what: string, runs = false): Orphan => ({ machine: name, resources: [what], isRunning: runs, facts: {} });

async function find(scopes: readonly OrphanScope[], there: readonly object[] = []) {
  const services = {
    ...{ installation: 'installation-1', provider: 'talos' },
    stores: { machines: { get: () => undefined } },
    kube: { list: async () => ({ items: there }) },
  } as unknown as Services;
  return await scanOrphans(services, 'home', scopes);
}

describe('orphans', () => {
  it('are found with their failure domain', async () => {
    const { found } = await find([at('a'), at('b', left('dataset x'))]);
    expect(found.map(({ orphan, scope }) => [orphan, scope.check.failureDomain])).toEqual([[left('dataset x'), 'b']]);
  });

  it('are in uncertainty in two failure domains: one of them may be a copy', async () => {
    const { found } = await find([at('a', left('dataset x')), at('b', left('dataset y', true))]);
    const [one, ...others] = found;
    expect(others).toEqual([]);
    expect(one?.orphan).toMatchObject({
      ...{ resources: ['dataset x', 'dataset y'], isRunning: true },
      uncertainty: expect.stringContaining('(a, b)'),
    });
  });

  it('S9: are none if the API server has their Machine', async () => {
    expect((await find([at(undefined, left('dataset x'))], [machine])).found).toEqual([]);
  });

  it('are found in reachable failure domains while others are unreachable', async () => {
    const { found, unreachable } = await find([unresponsive('a'), at('b', left('dataset x'))]);
    expect(found.map(({ scope }) => scope.check.failureDomain)).toEqual(['b']);
    expect(unreachable.map(({ scope, error }) => [scope.check.failureDomain, error.code])).toEqual([
      ['a', 'TRUENAS_UNREACHABLE'],
    ]);
  });

  it('are in uncertainty if a Machine of the name was created elsewhere, and only in the same ProviderConfig', async () => {
    const here = { ...left('dataset x'), facts: { system: 'nas-a' } };
    const made = (failureDomain: string, system: string, config = 'home'): object => {
      const spec = { ...machine.spec, failureDomain, providerConfigRef: { name: config } };
      return { ...machine, spec, status: { ...machine.status, progress: { facts: { system } } } };
    };
    const read = async (one: object) =>
      (await find([at('a', here)], [one])).found.map(({ orphan }) => orphan.uncertainty);
    expect(await read(made('b', 'nas-b'))).toEqual([expect.stringContaining('A Machine with this name exists at b')]);
    expect(await read(made('a', 'nas-a')), 'at the same place').toEqual([]);
    expect(await read(made('b', 'nas-a')), 'two places that are one system').toEqual([]);
    expect(await read(made('b', 'nas-b', 'other')), 'of another ProviderConfig').toEqual([]);
  });
});
