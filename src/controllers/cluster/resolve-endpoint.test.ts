import { beforeEach, describe, expect, it } from 'vitest';
import { aCluster, aMachine, aProviderConfig, aSpec } from '../../../test/support/fixtures/builders.ts';
import { exampleSecretsBundle } from '../../../test/talos/example-config.ts';
import type { Machine } from '../../api/machine.ts';
import { annotations } from '../../api/names.ts';
import type { Addressing } from '../../engine/addressing.ts';
import { formatSecretsBundle } from '../../talos/secrets/secrets-bundle-file.ts';
import { readClusterSecrets, secretsBundleKey } from '../shared/secrets/cluster-secrets.ts';
import type { Services } from '../shared/services.ts';
import { resolveEndpoint } from './resolve-endpoint.ts';
import type { ClusterView } from './view.ts';

const firstNode: Addressing = { pool: 'none', endpoint: 'first-node' };
const signal = AbortSignal.timeout(10_000);
const { endpoint: _, virtualAddress: __, ...withoutEndpoint } = aMachine().spec;

/** A Machine without an endpoint in its spec, with the facts of its steps. */
const machine = (slot: number, address?: string, more: Partial<Machine['metadata']> = {}, pool = 'cp'): Machine => {
  const made = aMachine(slot, [], pool);
  const progress = { plan: 'provision' as const, step: 'any', since: '2026-11-21T09:00:00Z', failures: 0 };
  const facts = address === undefined ? {} : { address };
  return {
    ...made,
    metadata: { ...made.metadata, ...more },
    spec: { ...withoutEndpoint, pool, slot, role: pool === 'cp' ? 'controlplane' : 'worker' },
    status: { observedGeneration: 1, phase: '', conditions: [], progress: { ...progress, facts } },
  };
};

/** The annotations on the secrets and the claimed addresses. */
let noted: Record<string, string>[];
let claimed: string[];
beforeEach(() => {
  noted = [];
  claimed = [];
});

async function createFixture(more: Partial<ClusterView>) {
  const data = {
    [secretsBundleKey]: Buffer.from(formatSecretsBundle(await exampleSecretsBundle()).reveal()).toString('base64'),
  };
  const object = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's', namespace: 'us' }, data };
  const services = {
    platforms: [],
    stores: { providerConfigs: { list: () => [] } },
    addresses: {
      claim: async ({ text }: { text: string }) => {
        claimed.push(text);
        return '192.168.10.20';
      },
    },
    kube: {
      merge: async (_kind: unknown, _key: unknown, change: { metadata: { annotations: Record<string, string> } }) => {
        noted.push(change.metadata.annotations);
        return { ...object, metadata: { ...object.metadata, annotations: change.metadata.annotations } };
      },
    },
  } as unknown as Services;
  const view = {
    cluster: aCluster(),
    ref: { namespace: 'team', name: 'prod' },
    config: aProviderConfig(),
    spec: aSpec(),
    addressing: firstNode,
    fixedEndpoint: undefined,
    secrets: readClusterSecrets(object),
    machines: [],
    ...more,
  } as unknown as ClusterView;
  return { services, view };
}

const find = async (more: Partial<ClusterView>) => {
  const { services, view } = await createFixture(more);
  return await resolveEndpoint(services, view, signal);
};

describe('the endpoint of a cluster', () => {
  it('is an address of the pool if the platform supports a virtual address', async () => {
    const found = await find({ addressing: { pool: 'main', endpoint: 'virtual-address' } });
    expect(found.endpoint).toEqual({ url: 'https://192.168.10.20:6443', virtualAddress: '192.168.10.20' });
    expect(claimed).toEqual(['cluster/team/prod']);
  });

  it('is the one that the ProviderConfig or its platform fixes, without a claim', async () => {
    const found = await find({ fixedEndpoint: { at: '[2001:db8::7]:6443', field: 'any.address' } });
    expect(found.endpoint).toEqual({ url: 'https://[2001:db8::7]:6443', virtualAddress: undefined });
    expect(claimed).toEqual([]);
  });

  it('is the one in the spec of the machines, whatever the ProviderConfig specifies now', async () => {
    const found = await find({
      fixedEndpoint: { at: 'new.example.org:6443', field: 'controlPlane.endpoint' },
      machines: [aMachine()],
    });
    expect(found.endpoint?.url).toBe(aMachine().spec.endpoint);
  });
});

describe('the endpoint at a control plane', () => {
  it('is unknown before the first machine, which is created without it', async () => {
    expect((await find({})).endpoint).toEqual({ url: undefined, virtualAddress: undefined });
    const machines = [machine(0), machine(0, '203.0.113.50', {}, 'work')];
    expect((await find({ machines })).endpoint).toEqual({ url: undefined, virtualAddress: undefined });
    expect([claimed, noted]).toEqual([[], []]);
  });

  it('P47: is the address of the first control plane that has one, and is recorded before it is published', async () => {
    const machines = [machine(0), machine(1, '2001:db8::41'), machine(2, '203.0.113.43')];
    const found = await find({ machines });
    expect(found.endpoint?.url).toBe('https://[2001:db8::41]:6443');
    expect(noted).toEqual([{ [annotations.endpoint]: 'https://[2001:db8::41]:6443' }]);
    expect(found.secrets?.endpoint).toBe('https://[2001:db8::41]:6443');
  });

  it('is never the address of a control plane in deletion', async () => {
    const going = machine(0, '203.0.113.41', { deletionTimestamp: '2026-11-21T10:00:00Z' });
    expect((await find({ machines: [going, machine(1, '203.0.113.42')] })).endpoint?.url).toContain('203.0.113.42');
  });

  it('stays the same when that machine is replaced', async () => {
    const { services, view } = await createFixture({ machines: [machine(0, '203.0.113.41')] });
    const { secrets } = await resolveEndpoint(services, view, signal);
    const later = { ...view, secrets, machines: [machine(0, '203.0.113.99')] };
    expect((await resolveEndpoint(services, later, signal)).endpoint?.url).toBe('https://203.0.113.41:6443');
    expect(noted).toHaveLength(1);
  });
});
