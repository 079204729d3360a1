import type { Dataset } from '../../api/schema.ts';
import type { TrueNasConfig } from '../../config/config.ts';
import { findDataset, type MachineScope } from '../machine-scope.ts';

/** The deepest existing dataset on the path to `datasetPrefix`, the root dataset of the pool included. */
export async function findDeepestDataset(
  system: Pick<MachineScope, 'nas' | 'signal'>,
  { pool, datasetPrefix }: Pick<TrueNasConfig, 'pool' | 'datasetPrefix'>,
): Promise<Dataset | undefined> {
  const parts = datasetPrefix.split('/');
  for (let length = parts.length; length >= 0; length -= 1) {
    const dataset = await findDataset(system, [pool, ...parts.slice(0, length)].join('/'));
    if (dataset) return dataset;
  }
  return undefined;
}
