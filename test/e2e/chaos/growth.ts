import type { ProcessUsage } from '../support/provider-process/controlled-provider.ts';

/**
 * A connection of the provider has three sockets: its own, and two of the gateway that can cut it. It has at most a few
 * to each machine (Talos API and API server, old and new after a partition) and to each other server.
 */
const handlesPerMachine = 3 * 4;
const otherHandles = 200;
/** The garbage collector of V8 returns memory late, and the fleet grows with its AccessRequests and workers. */
const memoryFactor = 1.5;
const memorySlackMiB = 100;

/** What the provider uses more at the end than a fleet of this size justifies, one sentence for each. */
export function listGrowth(first: ProcessUsage, last: ProcessUsage, machines: number): string[] {
  const handles = machines * handlesPerMachine + otherHandles;
  const memory = first.residentMiB * memoryFactor + memorySlackMiB;
  return [
    ...(last.handles > handles ? [`${last.handles} handles for ${machines} machines, more than ${handles}`] : []),
    ...(last.residentMiB > memory ? [`${last.residentMiB} MiB, and ${first.residentMiB} MiB on the first day`] : []),
  ];
}
