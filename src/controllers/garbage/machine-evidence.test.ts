import { describe, expect, it } from 'vitest';
import { aCluster, aMachine, aProviderConfig } from '../../../test/support/fixtures/builders.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { annotations } from '../../api/names.ts';
import type { Cluster } from '../../api/openmcp/types.ts';
import { truenas } from '../../platforms/truenas/index.ts';
import type { Services } from '../shared/services.ts';
import { gatherMachineEvidence } from './machine-evidence.ts';

const [first, ninth] = [aMachine(0).metadata.name, aMachine(9).metadata.name];
const prod = aCluster();

interface Known {
  readonly clusters?: readonly Cluster[];
  readonly address?: string;
  readonly notes?: Record<string, string>;
  readonly configs?: readonly object[];
}

function gather(machine: string, { clusters = [prod], address, notes, configs = [aProviderConfig()] }: Known) {
  const none = { get: () => undefined, by: () => [], list: () => [] };
  const services = {
    ...{
      environment: 'test',
      provider: 'talos',
      namespace: 'openmcp-system',
      platforms: [truenas],
      release: '1.0.0',
      clock: new ManualClock(),
    },
    addresses: { find: async () => address },
    kube: { find: async () => (notes ? { metadata: { name: 'prod', annotations: notes } } : undefined) },
    stores: {
      ...{
        clusters: none,
        nodePools: none,
        machines: none,
        secrets: none,
        profiles: none,
        clusterConfigs: none,
        accessRequests: none,
      },
      providerConfigs: { ...none, list: () => configs },
    },
  } as unknown as Services;
  return gatherMachineEvidence(services, clusters, machine, new AbortController().signal);
}

describe('evidence of a Machine that does not exist', () => {
  it('is empty if its Cluster is gone, whatever other Clusters exist', async () => {
    const clusters = [aCluster({}, { name: 'other' })];
    expect(await gather(first, { clusters })).toEqual({
      address: undefined,
      cluster: undefined,
      needReason: undefined,
    });
  });

  it('contains its claimed address', async () => {
    expect(await gather(first, { clusters: [], address: '192.0.2.7' })).toMatchObject({ address: '192.0.2.7' });
  });

  it('contains its Cluster, known by the hash in the name, even if that does not need it', async () => {
    expect(await gather(ninth, {})).toMatchObject({ cluster: 'team/prod', needReason: undefined });
  });

  it.each<[string, string, Known, RegExp]>([
    ['needs a Machine of this name', first, {}, /^Cluster team\/prod needs a Machine/],
    [
      'bootstrapped its etcd on it',
      ninth,
      { notes: { [annotations.bootstrapMachine]: ninth } },
      /^The etcd of Cluster team\/prod/,
    ],
    [
      'lists it, whatever its name',
      'unrelated',
      {
        clusters: [
          { ...prod, status: { observedGeneration: 1, phase: 'Ready', providerStatus: { machines: ['unrelated'] } } },
        ],
      },
      /^Cluster team\/prod lists it/,
    ],
    ['cannot be resolved', ninth, { configs: [] }, /^Whether Cluster \S+ needs it is unknown/],
  ])('contains a need if its Cluster %s', async (_, machine, known, text) => {
    expect(await gather(machine, known)).toMatchObject({ needReason: expect.stringMatching(text) });
  });
});
