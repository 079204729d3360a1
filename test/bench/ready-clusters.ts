import { Cluster } from '../../src/api/openmcp/types.ts';
import type { Testbed, TestbedOptions } from '../e2e/support/testbed/testbed.ts';
import { eventually } from '../support/eventually.ts';

/** A testbed for a hundred clusters of one machine each, with the shipped program. */
export const manyClustersTestbed: Omit<TestbedOptions, 'subnet'> = {
  seeds: { truenas: { memoryMiB: 1_048_576, pools: [{ name: 'tank', sizeBytes: 2 ** 44 }] } },
  provider: { asProgram: { speed: 1, verbosity: 'info' }, isRevived: true },
  // A hundred nodes that poll each second of simulated time: at the default speed they would need a core for
  // themselves.
  timeScale: 0.05,
};

/** So many start together: the simulators are one process, which must answer the provider's Lease in time. */
const batch = 5;

export async function createReadyClusters(testbed: Testbed, count: number, say: (line: string) => void): Promise<void> {
  const { objects, recorder, provider } = testbed;
  const ready = (): number => {
    const sightings = recorder.of(Cluster).filter(({ object }) => object.status?.phase === 'Ready');
    return new Set(sightings.map(({ object }) => object.metadata.name)).size;
  };
  const startedAt = performance.now();
  for (let i = 0; i < count; i += 1) {
    await objects.cluster({ namespace: 'bench', name: `c-${i}` });
    if ((i + 1) % batch > 0 && i + 1 < count) continue;
    await eventually(`${i + 1} are ready`, () => provider.hasEnded || ready() === i + 1, 300);
    provider.throwIfDead();
  }
  say(`${count} Clusters are ready after ${((performance.now() - startedAt) / 1000).toFixed(0)} s`);
}
