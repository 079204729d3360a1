import { describe, expect, it } from 'vitest';
import { aMachine, anInstance, aProviderConfig } from '../../../test/support/fixtures/builders.ts';
import { Machine } from '../../api/machine.ts';
import type { ProviderConfig } from '../../api/provider-config.ts';
import type { Services } from '../shared/services.ts';
import { findResourcesInUse } from './resources-in-use.ts';

const provider = aProviderConfig().spec?.providerRef?.name ?? '';

interface ApiServerObjects {
  configs: ProviderConfig[];
  machines: Machine[];
}

async function neededIn(arrange: (there: ApiServerObjects) => void) {
  const there: ApiServerObjects = { configs: [aProviderConfig()], machines: [] };
  arrange(there);
  const kube = { list: async (type: unknown) => ({ items: type === Machine ? there.machines : there.configs }) };
  const services = { provider, kube } as unknown as Services;
  return await findResourcesInUse(services, new AbortController().signal);
}

describe('the resources in use', () => {
  const joined = (facts: Record<string, unknown>, change: Partial<Machine['spec']> = {}): Machine => {
    const machine = aMachine();
    machine.spec = { ...machine.spec, providerRef: { ...machine.spec.providerRef, name: provider }, ...change };
    machine.status = { ...machine.status!, progress: { ...machine.status!.progress!, facts } };
    return machine;
  };
  const versions = (needed: Awaited<ReturnType<typeof neededIn>>) => needed?.talos.map(({ version }) => version);
  const version = aProviderConfig().spec?.talos.version;

  it('come from ProviderConfigs, from Machines in provisioning, and from the facts of all Machines', async () => {
    const needed = await neededIn((there) => {
      there.machines = [
        joined({ joined: true, image: '/mnt/a' }, { talosVersion: '1.12.1' }),
        joined({ image: '/mnt/b' }, { talosVersion: '1.12.2' }),
      ];
    });
    expect(versions(needed)).toEqual([version, '1.12.2']);
    expect(needed?.facts.map(({ image }) => image)).toEqual(['/mnt/a', '/mnt/b']);
  });

  it('do not include resources of other providers', async () => {
    const needed = await neededIn((there) => {
      const other = aProviderConfig();
      other.spec = { ...other.spec!, providerRef: { name: 'other' } };
      there.configs.push(other);
      there.machines = [joined({ image: '/mnt/b' }, { providerRef: { ...anInstance, name: 'other' } })];
    });
    expect([versions(needed), needed?.facts]).toEqual([[version], []]);
  });

  it.each<[string, (there: ApiServerObjects) => void]>([
    ['a ProviderConfig is invalid', ({ configs }) => void Object.assign(configs[0]?.spec?.talos ?? {}, { version: 7 })],
    [
      'a Machine in provisioning has none',
      (there) => void Object.assign(there, { configs: [], machines: [joined({})] }),
    ],
  ])('are unknown if %s', async (_, arrange) => {
    expect(await neededIn(arrange)).toBeUndefined();
  });
});
