import { z } from 'zod';
import { done, fail, type StepOutcome } from '../../../../engine/platform.ts';
import { ProviderError } from '../../../../lib/errors.ts';
import type { ChildDataset, Dataset } from '../../api/schema.ts';
import { readTrueNasVersion } from '../../api/version.ts';
import { hasCode } from '../../errors.ts';
import { isOwnDataset } from '../identity.ts';
import { findDataset, type MachineScope, readAllVms, vmIdsUsing } from '../machine-scope.ts';

type DatasetAccess = Pick<MachineScope, 'nas' | 'owner' | 'signal'>;

/** A dataset that may be ours, and the path under which devices of virtual machines would use it. */
export interface StoredDataset {
  readonly id: string;
  readonly path: string;
}

/**
 * Destroys those that carry our mark, with their snapshots, when nothing else lies below one and no virtual machine uses any. What does
 * not carry it counts as not there. Before all is proven nothing goes; what lies in one that goes is taken along. `ifMissing` may
 * have something against it where one is not there.
 */
export async function destroyOwnDatasets(
  at: DatasetAccess,
  stored: readonly StoredDataset[],
  ifMissing?: () => Promise<StepOutcome | undefined>,
): Promise<StepOutcome> {
  const [found, vms] = await Promise.all([findOwnStored(at, stored), readAllVms(at)]);
  const objection = found.length < stored.length ? await ifMissing?.() : undefined;
  if (objection) return objection;
  if (found.length === 0) return done();
  const names = new Set(found.map(({ dataset }) => dataset.id));
  for (const { dataset, path } of found) {
    const stranger = descendantsOf(dataset).find(({ id }) => !names.has(id));
    if (stranger) {
      const words = `The dataset ${dataset.id} holds ${stranger.id}, which we did not make. Move or delete it.`;
      return fail('DatasetInUse', words);
    }
    const users = vmIdsUsing(vms, path);
    if (users.length > 0) {
      const words = `${dataset.id} is used by the virtual machine with number ${users.join(', ')}. Detach it there first.`;
      return fail('DatasetInUse', words);
    }
  }
  const isTakenAlong = (id: string) => [...names].some((other) => id.startsWith(`${other}/`));
  for (const id of names) if (!isTakenAlong(id)) await destroyDatasetTree(at, id);
  if (await isDeletionAnswerReliable(at)) return done();
  const left = await Promise.all([...names].map(async (id) => await findDataset(at, id)));
  const still = left.flatMap((dataset) => dataset?.id ?? []);
  if (still.length > 0) throw new ProviderError('TRUENAS_BUSY', `${still.join(', ')}: still there.`);
  return done();
}

/** TrueNAS 26.0.0-BETA.3 answers true also when nothing was destroyed; before that, a deletion that was answered well was one. */
const isDeletionAnswerReliable = async ({ nas, signal }: DatasetAccess): Promise<boolean> =>
  /^25\./.test(await readTrueNasVersion(nas, signal));

async function findOwnStored(
  at: DatasetAccess,
  stored: readonly StoredDataset[],
): Promise<{ dataset: Dataset; path: string }[]> {
  const look = async ({ id, path }: StoredDataset) => ({
    dataset: await findDataset(at, id, { children: true }),
    path,
  });
  const found = await Promise.all(stored.map(look));
  return found.flatMap(({ dataset, path }) => (dataset && isOwnDataset(dataset, at.owner) ? [{ dataset, path }] : []));
}

const descendantsOf = ({ children }: ChildDataset): ChildDataset[] =>
  (children ?? []).flatMap((child) => [child, ...descendantsOf(child)]);

/** Recursive takes along what was proven to be ours, and the snapshots that a periodic task may have made. */
async function destroyDatasetTree({ nas, signal }: DatasetAccess, id: string): Promise<void> {
  const options = { recursive: true, force: false };
  try {
    await nas.change('pool.dataset.delete', [id, options], z.unknown(), { signal, seconds: 120 });
  } catch (error) {
    if (!hasCode(error, 'TRUENAS_NOT_FOUND')) throw error;
  }
}
