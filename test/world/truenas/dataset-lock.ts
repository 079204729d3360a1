import { isBusy } from './dataset-delete.ts';
import { getDataset } from './dataset-query.ts';
import { CallError, errnos, Refusals } from './errors.ts';
import { isRecord } from './model.ts';
import type { Nas } from './nas.ts';
import type { Entry } from './query.ts';

/** The work of `pool.dataset.lock`. */
export function lockDataset(nas: Nas, id: string): true {
  const dataset = getDataset(nas, id);
  const refusals = new Refusals();
  if (!dataset.encryption) refusals.add('id', 'Dataset is not encrypted');
  else if (!dataset.encryption.loaded) refusals.add('id', 'Dataset is already locked');
  else if (dataset.encryption.format !== 'passphrase') {
    refusals.add('id', 'Only datasets which are encrypted with passphrase can be locked');
  }
  refusals.check();
  if (isBusy(nas, dataset)) throw new CallError(`cannot unmount '${id}': pool or dataset is busy`, errnos.EBUSY);
  if (dataset.encryption) dataset.encryption.loaded = false;
  return true;
}

/** The work of `pool.dataset.unlock`: what was unlocked and what failed, as a result and never as an error. */
export function unlockDataset(nas: Nas, id: string, options: { datasets: Entry[] }): Entry {
  const dataset = getDataset(nas, id);
  const refusals = new Refusals();
  if (!dataset.encryption) refusals.add('id', `${id} is not encrypted`);
  else if (dataset.encryption.loaded) refusals.add('id', `${id} dataset is not locked`);
  refusals.check();
  const given = options.datasets.find(({ name }) => name === id);
  const secret = isRecord(given) ? (given['passphrase'] ?? given['key']) : undefined;
  if (dataset.encryption?.secret !== secret) {
    return { unlocked: [], failed: { [id]: { error: secret ? 'Invalid Key' : 'Missing key', skipped: [] } } };
  }
  if (dataset.encryption) dataset.encryption.loaded = true;
  return { unlocked: [id], failed: {} };
}

/** What a reboot does: keys that the system keeps are loaded again, passphrases it does not know. */
export function lockEncrypted(nas: Nas): void {
  for (const { encryption } of nas.datasets.values())
    if (encryption?.format === 'passphrase') encryption.loaded = false;
}
