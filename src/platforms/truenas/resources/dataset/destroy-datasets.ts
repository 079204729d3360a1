import { z } from 'zod';
import { done, fail, type StepOutcome } from '../../../../engine/step.ts';
import type { ChildDataset, Dataset } from '../../api/schema.ts';
import { readTrueNasVersion } from '../../api/version.ts';
import { TrueNasError } from '../../error-codes.ts';
import { hasCode } from '../../errors.ts';
import { isOwnDataset } from '../identity.ts';
import { findDataset, type MachineScope, readAllVms, vmIdsUsing } from '../machine-scope.ts';

type DatasetAccess = Pick<MachineScope, 'nas' | 'owner' | 'signal'>;

/** A dataset that may be ours, and its path as devices of virtual machines use it. */
export interface StoredDataset {
  readonly id: string;
  readonly path: string;
}

/**
 * Destroys the datasets with our mark, with their snapshots, when nothing foreign lies below them and no virtual
 * machine uses them. A dataset without our mark counts as missing. All checks come before the first deletion;
 * descendants are deleted with a dataset. `ifMissing` may stop the walk when a dataset is missing.
 */
export async function destroyOwnDatasets(
  at: DatasetAccess,
  stored: readonly StoredDataset[],
  ifMissing?: () => Promise<StepOutcome | undefined>,
): Promise<StepOutcome> {
  const [found, vms] = await Promise.all([findOwnStored(at, stored), readAllVms(at)]);
  const rejection = found.length < stored.length ? await ifMissing?.() : undefined;
  if (rejection) return rejection;
  if (found.length === 0) return done();
  const names = new Set(found.map(({ dataset }) => dataset.id));
  for (const { dataset, path } of found) {
    const foreign = descendantsOf(dataset).find(({ id }) => !names.has(id));
    if (foreign) {
      const message = `The dataset ${dataset.id} contains ${foreign.id}, which has no mark of this provider. Move or delete it.`;
      return fail('DatasetInUse', message);
    }
    const users = vmIdsUsing(vms, path);
    if (users.length > 0) {
      const message = `${dataset.id} is used by the virtual machine with number ${users.join(', ')}. Detach it there first.`;
      return fail('DatasetInUse', message);
    }
  }
  const isTakenAlong = (id: string) => [...names].some((other) => id.startsWith(`${other}/`));
  for (const id of names) if (!isTakenAlong(id)) await destroyDatasetTree(at, id);
  if (await isDeletionAnswerReliable(at)) return done();
  const left = await Promise.all([...names].map(async (id) => await findDataset(at, id)));
  const still = left.flatMap((dataset) => dataset?.id ?? []);
  if (still.length > 0) throw new TrueNasError('TRUENAS_BUSY', `${still.join(', ')}: still exists.`);
  return done();
}

/**
 * TrueNAS 26.0.0-BETA.3 answers true even when nothing was destroyed. In earlier versions a successful answer proves
 * the deletion.
 */
const isDeletionAnswerReliable = async ({ nas, signal }: DatasetAccess): Promise<boolean> =>
  /^25\./.test(await readTrueNasVersion(nas, signal));

async function findOwnStored(
  at: DatasetAccess,
  stored: readonly StoredDataset[],
): Promise<{ dataset: Dataset; path: string }[]> {
  const readDataset = async ({ id, path }: StoredDataset) => ({
    dataset: await findDataset(at, id, { children: true }),
    path,
  });
  const found = await Promise.all(stored.map(readDataset));
  return found.flatMap(({ dataset, path }) => (dataset && isOwnDataset(dataset, at.owner) ? [{ dataset, path }] : []));
}

const descendantsOf = ({ children }: ChildDataset): ChildDataset[] =>
  (children ?? []).flatMap((child) => [child, ...descendantsOf(child)]);

/** Recursive: includes descendants that were checked, and snapshots of periodic tasks. */
async function destroyDatasetTree({ nas, signal }: DatasetAccess, id: string): Promise<void> {
  const options = { recursive: true, force: false };
  try {
    await nas.change('pool.dataset.delete', [id, options], z.unknown(), { signal, seconds: 120 });
  } catch (error) {
    if (!hasCode(error, 'TRUENAS_NOT_FOUND')) throw error;
  }
}
