import { type Facts, fail, type StepOutcome } from '../../../../engine/step.ts';
import { isPoolWorking, type Pool } from '../../api/schema.ts';
import { SystemInformer } from '../../cache/system-informer.ts';
import type { MachineScope, ReadScope } from '../machine-scope.ts';
import { parseDatasetRef } from './dataset-ref.ts';

/** Reasons with which a release stops because it cannot prove that a machine is gone. A user may approve it. */
export const unprovenReasons = ['SystemChanged', 'PoolGone', 'PoolFaulted'] as const;

/** A user approved the release: the remaining objects of the machine are not touched. */
export const isAbsenceApproved = (facts: Facts): boolean => typeof facts['approved'] === 'string';

/** All pools of the system, read now. */
async function readAllPools({ nas, signal }: ReadScope): Promise<readonly Pool[]> {
  const informer = SystemInformer.of(nas);
  return await informer.pools({ atLeast: informer.nextVersion() }, signal);
}

/** The datasets of a machine with the guids of their pools, as in the fact `roots` and in the claim of its address. */
export const toRootsFact = (pinned: readonly string[]): Facts =>
  pinned.length === 0 ? {} : { roots: pinned.join(',') };

/**
 * Why a missing object does not prove that the machine is gone; undefined when it does. The proof needs every pool of
 * the machine to exist and to work: another system, or one with exported pools or a restored database, knows nothing of
 * the machine. A pool is identified by its guid, whatever its name.
 */
export async function failUnlessAbsenceProven(system: MachineScope, facts: Facts): Promise<StepOutcome | undefined> {
  if (parseRootsFact(facts).length === 0) return undefined;
  const unseen = describeUnprovenAbsence(facts, await readAllPools(system), system.nas.host);
  return unseen && fail(unseen.reason, unseen.message);
}

/** The same by the pools of a system. */
export function describeUnprovenAbsence(
  facts: Facts,
  pools: readonly Pool[],
  host: string,
): { readonly reason: (typeof unprovenReasons)[number]; readonly message: string } | undefined {
  const roots = parseRootsFact(facts);
  const poolOf = (guid: string) => pools.find((pool) => pool.guid === guid);
  const unseen = roots.filter(({ pool }) => !poolOf(pool)).map(({ pool, dataset }) => formatPool(dataset, pool));
  if (unseen.length > 0 && unseen.length === roots.length) {
    const message = `This machine was created on pools that ${host} does not have: ${unseen.join(', ')}. Use the system with these pools in truenas.url, or import them, until the machine is deleted.`;
    return { reason: 'SystemChanged', message };
  }
  if (unseen.length > 0)
    return {
      reason: 'PoolGone',
      message: `${host} no longer has the pool ${unseen.join(', ')}. Import it.`,
    };
  const faulted = roots.flatMap(({ pool }) => poolOf(pool) ?? []).find((pool) => !isPoolWorking(pool));
  if (!faulted) return undefined;
  const message = `The pool ${faulted.name} is ${faulted.status}: its datasets are not visible. Repair it.`;
  return { reason: 'PoolFaulted', message };
}

const parseRootsFact = (facts: Facts): ReturnType<typeof parseDatasetRef>[] =>
  String(facts['roots'] ?? '')
    .split(',')
    .filter((root) => root !== '')
    .map(parseDatasetRef);

const formatPool = (dataset: string, guid: string): string => `${dataset.split('/')[0]} (guid ${guid})`;
