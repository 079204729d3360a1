import { ArgumentErrors, CallError, errnos } from '../middleware/errors.ts';
import { isPlainObject } from '../middleware/parameter-model.ts';
import type { Entry } from '../middleware/query.ts';
import type { NasState } from '../nas-state.ts';
import { childrenOf, encryptionRoot, isLocked, parentDatasetOf } from '../storage/dataset-files.ts';
import { isBusy } from './delete-dataset.ts';
import { getDataset } from './query-datasets.ts';

/** The work of `pool.dataset.lock`. */
export function lockDataset(nas: NasState, id: string): true {
  const dataset = getDataset(nas, id);
  const rejections = new ArgumentErrors();
  const root = encryptionRoot(nas, dataset);
  if (!root) rejections.add('id', 'Dataset is not encrypted');
  else if (!dataset.encryption) {
    rejections.add('id', `Please lock ${root.id}. Only encryption roots can be locked.`);
  } else if (!dataset.encryption.loaded) rejections.add('id', 'Dataset is already locked');
  else if (dataset.encryption.format !== 'passphrase') {
    rejections.add('id', 'Only datasets which are encrypted with passphrase can be locked');
  }
  rejections.check();
  if ([dataset, ...childrenOf(nas, id)].some((one) => isBusy(nas, one)))
    throw new CallError(`cannot unmount '${id}': pool or dataset is busy`, errnos.EBUSY);
  if (dataset.encryption) dataset.encryption.loaded = false;
  return true;
}

/** The work of `pool.dataset.unlock`: the result lists the unlocked and the failed datasets. It is never an error. */
export function unlockDataset(nas: NasState, id: string, options: { datasets: Entry[] }): Entry {
  const dataset = getDataset(nas, id);
  const rejections = new ArgumentErrors();
  const root = encryptionRoot(nas, dataset);
  for (const [at, one] of options.datasets.entries()) validateUnlockItem(rejections, one, at);
  if (!root || !isLocked(nas, dataset)) rejections.add('id', `${id} dataset is not locked`);
  else if (root !== dataset) rejections.add('id', 'Only encryption roots can be unlocked');
  const given = options.datasets.find(({ name }) => name === id);
  if (!given) rejections.add('unlock_options.datasets', `Please specify key for ${id}`);
  rejections.check();
  const above = lockedAbove(nas, id);
  if (above.length > 0) {
    throw new CallError(`${id} has locked parents ${above.join(',')} which must be unlocked first`);
  }
  const secret = isPlainObject(given) ? (given['passphrase'] ?? given['key']) : undefined;
  if (dataset.encryption?.secret !== secret) {
    return { unlocked: [], failed: { [id]: { error: secret ? 'Invalid Key' : 'Missing key', skipped: [] } } };
  }
  if (dataset.encryption) dataset.encryption.loaded = true;
  return { unlocked: [id], failed: {} };
}

function validateUnlockItem(rejections: ArgumentErrors, { name, key, passphrase }: Entry, at: number): void {
  const field = `unlock_options.datasets.${at}.dataset`;
  if (key && passphrase)
    rejections.add(`${field}.key`, `Must not be specified when passphrase for ${name} is supplied`);
  if (!key && !passphrase) rejections.add(field, `Passphrase or key must be specified for ${name}`);
}

/** Locked encryption roots above: their content cannot be mounted. */
function lockedAbove(nas: NasState, id: string): string[] {
  const found: string[] = [];
  for (let at = parentDatasetOf(id); at !== undefined; at = parentDatasetOf(at)) {
    const { encryption } = nas.datasets.get(at) ?? {};
    if (encryption && !encryption.loaded) found.push(at);
  }
  return found;
}

/** The effect of a reboot: stored keys are loaded again, passphrases are not stored. */
export function lockAfterReboot(nas: NasState): void {
  for (const { encryption } of nas.datasets.values())
    if (encryption?.format === 'passphrase') encryption.loaded = false;
}
