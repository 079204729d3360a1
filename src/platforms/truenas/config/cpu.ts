import { z } from 'zod';
import { celValidations } from '../../../engine/config-schemas.ts';

/**
 * libvirt names of processors without features of the level x86-64-v2, such as SSE4.2 and POPCNT. Talos halts on them
 * before it has an API (talos: internal/app/init), so the machine would never answer.
 */
const unsupportedModels = [
  ...['486', 'pentium', 'pentium2', 'pentium3', 'pentiumpro', 'coreduo', 'core2duo', 'n270', 'Conroe', 'Penryn'],
  ...['athlon', 'phenom', 'Opteron_G1', 'Opteron_G2', 'Opteron_G3'],
  ...['qemu32', 'qemu64', 'kvm32', 'kvm64', 'cpu64-rhel5', 'cpu64-rhel6'],
];
const unsupportedModelPattern = `^(${unsupportedModels.join('|')})(-v[0-9]+)?$`;

const count = z.int().min(1).max(255);
const unsupportedModelMessage = 'Talos needs a processor with x86-64-v2: choose a newer one, or host';
const cpuTopologyMessage = 'cpus must be a multiple of sockets times threads';

/** Processor fields of a size. */
export const cpuFields = {
  cpus: count.describe('Number of virtual CPUs, i.e. sockets times cores times threads.'),
  sockets: count.describe('Number of sockets. Default: 1.').optional(),
  threads: count.describe('Threads per core. Default: 1.').optional(),
  cpuModel: z
    .string()
    .max(64)
    .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]*$/)
    .refine((name) => !unsupportedModels.includes(name.replace(/-v[0-9]+$/, '')), { message: unsupportedModelMessage })
    .meta(
      celValidations([
        `!self.matches('${unsupportedModelPattern}')`,
        `truenas.sizes[].cpuModel: ${unsupportedModelMessage}`,
      ]),
    )
    .describe(
      'CPU model of the nodes: host for the processor of the system with all features, or a model that the system offers, such as EPYC-Rome, for equal nodes on different systems. Default: host.',
    )
    .optional(),
};

interface CpuSettings {
  readonly cpus: number;
  readonly sockets?: number | undefined;
  readonly threads?: number | undefined;
  readonly cpuModel?: string | undefined;
}

const productExpression = (...counts: readonly string[]): string =>
  counts.map((name) => `(has(self.${name}) ? self.${name} : 1)`).join(' * ');

/** Validation rule of a size, for the API server. */
export const evenCpusRule = [
  `self.cpus % (${productExpression('sockets', 'threads')}) == 0`,
  `truenas.sizes[].cpus: ${cpuTopologyMessage}`,
] as const;

/** The same rule for the schema of this process. */
export const hasEvenTopology = ({ cpus, sockets = 1, threads = 1 }: CpuSettings): boolean =>
  cpus % (sockets * threads) === 0;
export const unevenCpusIssue = { path: ['cpus'], message: cpuTopologyMessage };

/** The arguments of `vm.create`; TrueNAS calls sockets vcpus. */
export function toVmCpuRequest({
  cpus,
  sockets = 1,
  threads = 1,
  cpuModel = 'host',
}: CpuSettings): Record<string, unknown> {
  const model = cpuModel === 'host' ? { cpu_mode: 'HOST-PASSTHROUGH' } : { cpu_mode: 'CUSTOM', cpu_model: cpuModel };
  return { vcpus: sockets, cores: cpus / (sockets * threads), threads, ...model };
}

/** Text for users, e.g. `4 CPUs (2 sockets, EPYC-Rome)`. */
export function formatCpu({ cpus, sockets = 1, threads = 1, cpuModel = 'host' }: CpuSettings): string {
  const more = [
    ...(sockets > 1 ? [`${sockets} sockets`] : []),
    ...(threads > 1 ? [`${threads} threads for each core`] : []),
    ...(cpuModel === 'host' ? [] : [cpuModel]),
  ];
  return `${cpus} CPUs${more.length > 0 ? ` (${more.join(', ')})` : ''}`;
}
