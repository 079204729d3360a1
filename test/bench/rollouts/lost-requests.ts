import type { Machine } from '../../../src/api/machine.ts';
import { Cluster, type NamespacedRef } from '../../../src/api/openmcp/types.ts';
import { adminKubeconfig } from '../../e2e/support/access/workload-cluster.ts';
import { Testbed } from '../../e2e/support/testbed/testbed.ts';
import { eventually } from '../../support/eventually.ts';
import { RequestCounter } from '../../support/request-counter.ts';
import type { Measurement } from '../measurement.ts';
import { awaitUpToDate, changeConfig, labelPatches, restartPatches } from './changed-cluster.ts';

/** The simulators are so much faster than reality; the client is not. */
const speed = 10;
/** A process of its own, so that the client is not late because of it. Its waits keep real time. */
const provider = { asProgram: { speed: 1, verbosity: 'info' } } as const;
const changeSeconds = 600;
const ref: NamespacedRef = { namespace: 'bench', name: 'served' };
const config = 'served';
const kubernetes = { from: '1.34.7', to: '1.35.4' } as const;
const talos = { from: '1.13.8', to: '1.13.9' } as const;

interface Change {
  readonly what: string;
  make(testbed: Testbed): Promise<unknown>;
  /** Whether a Machine shows it. */
  isSeen(machine: Machine): boolean;
}

const isReleased = ({ spec, status }: Machine): boolean =>
  spec.revision !== undefined && spec.revision === status?.applied?.revision;

const changes: readonly Change[] = [
  {
    what: 'a label',
    make: (testbed) => changeConfig(testbed, config, labelPatches('fast')),
    isSeen: isReleased,
  },
  {
    what: 'a restart',
    make: (testbed) => changeConfig(testbed, config, restartPatches),
    isSeen: isReleased,
  },
  {
    what: 'an upgrade of Talos',
    make: (testbed) => changeConfig(testbed, config, { talos: { version: talos.to } }),
    isSeen: ({ status }) => status?.applied?.talosVersion === talos.to,
  },
  {
    what: 'an upgrade of Kubernetes by a minor',
    make: ({ platform }) => platform.merge(Cluster, ref, { spec: { kubernetes: { version: kubernetes.to } } }),
    isSeen: ({ status }) => status?.applied?.kubernetesVersion === kubernetes.to,
  },
];

/** Requests at the shared address of three control planes that are not answered within a second, during each change. */
export async function measureLostRequests(say: (line: string) => void): Promise<readonly Measurement[]> {
  const testbed = await Testbed.open({ subnet: '127.42.234', timeScale: 1 / speed, provider });
  try {
    testbed.provider.start();
    await createCluster(testbed);
    say('three control planes are ready');
    const figures: Measurement[] = [];
    for (const change of changes) figures.push(await countDuring(testbed, change, say));
    return figures;
  } catch (error) {
    process.stderr.write(testbed.tail());
    throw error;
  } finally {
    await testbed.close();
  }
}

async function createCluster(testbed: Testbed): Promise<void> {
  const { objects } = testbed;
  await objects.credentials();
  await objects.config(config, {
    controlPlanes: 3,
    change: (spec) => {
      spec.talos['version'] = talos.from;
      Object.assign(spec, {
        kubernetes: { versions: Object.values(kubernetes).map((version) => ({ version })) },
      });
    },
  });
  await objects.cluster(ref, { config, kubernetes: { version: kubernetes.from } });
  await awaitUpToDate(testbed, ref, changeSeconds);
}

async function countDuring(
  testbed: Testbed,
  { what, make, isSeen }: Change,
  say: (line: string) => void,
): Promise<Measurement> {
  const before = new Map(
    (await testbed.objects.machines(ref)).map(({ metadata, spec }) => [metadata.name, spec.revision]),
  );
  const startedAt = performance.now();
  const counter = new RequestCounter([await adminKubeconfig(testbed, ref)]);
  try {
    await make(testbed);
    const isDone = async (): Promise<boolean> =>
      (await testbed.objects.machines(ref)).every(
        (machine) => isSeen(machine) && machine.spec.revision !== before.get(machine.metadata.name),
      );
    await eventually(`${what} is on every node`, isDone, changeSeconds);
    await awaitUpToDate(testbed, ref, changeSeconds);
  } finally {
    await counter.stop();
  }
  const { total, lost, slowestMs } = counter.counts;
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(0);
  say(`${what}: ${lost} of ${total} requests lost in ${seconds} s, the slowest took ${slowestMs} ms`);
  return {
    what: `Requests at the shared address of 3 control planes that were lost during ${what}, ${speed} times faster than real time`,
    measured: `${lost} of ${total}; the slowest took ${slowestMs} ms`,
    goal: '0',
    reached: lost === 0,
  };
}
