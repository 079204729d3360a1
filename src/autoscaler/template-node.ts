import { create, toBinary } from '@bufbuild/protobuf';
import { hostsOfPlatform } from '../api/host.ts';
import { labels } from '../api/names.ts';
import { toHostView } from '../controllers/host/availability.ts';
import type { Services } from '../controllers/shared/services.ts';
import type { HostHardware } from '../engine/host.ts';
import type { SizeHardware } from '../engine/node.ts';
import { instanceTypeOfSize, placementLabelsOf } from '../engine/node-labels.ts';
import { TemplateNodeSchema } from './gen/node_pb.ts';
import type { ScalablePool } from './node-groups.ts';

/**
 * The Node that a pool would get next, as bytes of a Kubernetes Node: what an autoscaler needs of a pool without nodes.
 * Undefined if the hardware of its machines is not known.
 */
export function encodeTemplateNode(services: Services, pool: ScalablePool): Uint8Array | undefined {
  const hardware = findHardware(services, pool);
  if (!hardware) return undefined;
  const { workers, nodePool } = pool;
  const name = `${nodePool.metadata.name}-template`;
  return toBinary(
    TemplateNodeSchema,
    create(TemplateNodeSchema, {
      metadata: { name, labels: labelsOf(pool, name) },
      spec: { taints: workers.taints.map(({ key, value, effect }) => ({ key, value, effect })) },
      status: {
        capacity: toQuantities(capacityOf(hardware)),
        allocatable: toQuantities(allocatableOf(hardware)),
        conditions: [{ type: 'Ready', status: 'True' }],
      },
    }),
  );
}

/** The labels that kubelet and the machine configuration set. The failure domain of a new Machine is not known yet. */
function labelsOf(
  { workers, spec, platform: { platform, config } }: ScalablePool,
  name: string,
): Record<string, string> {
  const [zone, ...others] = platform.failureDomains.names(config);
  const size = platform.sizeHardware?.(config, workers.size);
  return {
    'kubernetes.io/hostname': name,
    'kubernetes.io/os': 'linux',
    'kubernetes.io/arch': 'amd64',
    [labels.pool]: workers.name,
    ...placementLabelsOf({
      instanceType: size && instanceTypeOfSize(size),
      region: spec.network.region,
      zone: others.length > 0 ? undefined : zone,
    }),
    ...workers.labels,
  };
}

/** Of several Hosts the smallest: a Pod that fits there fits on each of them. Free ones count, if there are any. */
function findHardware({ stores }: Services, { platform, workers }: ScalablePool): SizeHardware | undefined {
  const { hosts: inventory, sizeHardware, name } = platform.platform;
  const fixed = sizeHardware?.(platform.config, workers.size);
  if (fixed || !inventory) return fixed;
  const node = { role: 'worker', size: workers.size } as const;
  const known = hostsOfPlatform(stores.hosts.list(), name).flatMap((host) => {
    const view = toHostView(host);
    if (!view?.hardware || inventory.whyUnsuitable(platform.config, view, node) !== undefined) return [];
    return [{ isFree: view.state === 'Available', hardware: hardwareOfHost(view.hardware) }];
  });
  const free = known.filter(({ isFree }) => isFree);
  const [first, ...rest] = (free.length > 0 ? free : known).map(({ hardware }) => hardware);
  return first && rest.reduce(smallerOf, first);
}

const gibibyte = 2 ** 30;
const mebibyte = 2 ** 20;

/** Which disk becomes the system disk follows from hints, so the smallest one counts. */
const hardwareOfHost = ({ cpu, memoryMiB, disks }: HostHardware): SizeHardware => ({
  cpus: cpu.threads,
  memoryMiB,
  diskGiB: Math.floor(Math.min(...disks.map(({ sizeBytes }) => sizeBytes)) / gibibyte),
});

const smallerOf = (a: SizeHardware, b: SizeHardware): SizeHardware => ({
  cpus: Math.min(a.cpus, b.cpus),
  memoryMiB: Math.min(a.memoryMiB, b.memoryMiB),
  diskGiB: Math.min(a.diskGiB, b.diskGiB),
});

interface NodeResources {
  readonly cpuMillis: number;
  readonly memoryBytes: number;
  readonly diskBytes: number;
}

/** The kernel keeps a part of the memory, and Talos some partitions of the disk. Rather too much than too little. */
const capacityOf = ({ cpus, memoryMiB, diskGiB }: SizeHardware): NodeResources => ({
  cpuMillis: cpus * 1000,
  memoryBytes: Math.floor(memoryMiB * 0.96 - 64) * mebibyte,
  diskBytes: Math.max(0, diskGiB * gibibyte - 2 * gibibyte),
});

/**
 * What Pods can use: less what Talos reserves for the system on workers (50m, 384Mi, 256Mi), and less the thresholds at
 * which kubelet evicts Pods (100Mi of memory, a tenth of the disk). Patches that change these are not considered.
 */
function allocatableOf(hardware: SizeHardware): NodeResources {
  const { cpuMillis, memoryBytes, diskBytes } = capacityOf(hardware);
  return {
    cpuMillis: cpuMillis - 50,
    memoryBytes: Math.max(0, memoryBytes - (384 + 100) * mebibyte),
    diskBytes: Math.max(0, Math.floor(diskBytes * 0.9) - 256 * mebibyte),
  };
}

/** Kubelet's default. */
const maxPods = '110';

const toQuantities = ({ cpuMillis, memoryBytes, diskBytes }: NodeResources) => ({
  cpu: { string: `${cpuMillis}m` },
  memory: { string: String(memoryBytes) },
  'ephemeral-storage': { string: String(diskBytes) },
  pods: { string: maxPods },
});
