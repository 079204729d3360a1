import { z } from 'zod';
import { done, fail, type Outcome } from '../../engine/platform.ts';
import { ProviderError } from '../../lib/errors.ts';
import { hasCode } from './errors.ts';
import { isOwnDataset } from './identity.ts';
import { findDataset, findUsers, type System } from './system.ts';

/**
 * Destroys a dataset that carries our mark, with its snapshots, when nothing lies below it and no virtual machine uses it. What does not carry it
 * counts as not there.
 */
export async function destroy(
  system: Pick<System, 'nas' | 'owner' | 'signal'>,
  id: string,
  path: string,
): Promise<Outcome> {
  const { nas, owner, signal } = system;
  const dataset = await findDataset(system, id, { children: true });
  if (!dataset || !isOwnDataset(dataset, owner)) return done();
  const [child] = dataset.children ?? [];
  if (child)
    return fail('DatasetInUse', `The dataset ${id} holds ${child.id}, which we did not make. Move or delete it.`);
  const users = await findUsers(system, path);
  if (users.length > 0) {
    return fail(
      'DatasetInUse',
      `${id} is used by the virtual machine with number ${users.join(', ')}. Detach it there first.`,
    );
  }
  try {
    // Recursive takes the snapshots along that a periodic task may have made; children were ruled out.
    await nas.change('pool.dataset.delete', [id, { recursive: true, force: false }], z.unknown(), {
      signal,
      seconds: 120,
    });
  } catch (error) {
    if (!hasCode(error, 'TRUENAS_NOT_FOUND')) throw error;
  }
  // TrueNAS 26.0.0-BETA.3 answers true also when nothing was destroyed.
  if (await findDataset(system, id)) throw new ProviderError('TRUENAS_BUSY', `${id} is still there.`);
  return done();
}
