import { Machine } from '../../api/machine.ts';
import { isConflict } from '../../kube/errors.ts';
import type { Services } from '../shared/services.ts';
import type { SpecUpdate } from './desired-machine-spec.ts';

/**
 * Writes the desired spec of Machines, each on the condition that it has not changed since it was read. Returns the
 * Machines after the writes. One that has changed meanwhile is not written, and the news of that change brings the
 * Cluster back.
 */
export async function updateMachineSpecs(
  { kube }: Pick<Services, 'kube'>,
  machines: readonly Machine[],
  updates: readonly SpecUpdate[],
  signal: AbortSignal,
): Promise<readonly Machine[]> {
  const written = new Map<string, Machine>();
  for (const { machine, change } of updates) {
    const { name, resourceVersion } = machine.metadata;
    const lock = resourceVersion ? { resourceVersion } : {};
    try {
      written.set(name, await kube.merge(Machine, { name }, { spec: change }, lock, signal));
    } catch (error) {
      if (!isConflict(error)) throw error;
      written.set(name, { ...machine, spec: { ...machine.spec, ...change } });
    }
  }
  return machines.map((machine) => written.get(machine.metadata.name) ?? machine);
}
