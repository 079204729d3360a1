import type { Drift } from '../../../engine/observation.ts';

export const drift = (reason: string, message: string, more: Partial<Drift> = {}): Drift => ({
  ...{ reason, message },
  ...more,
});

/** Message for a lost disk with data, and for a lost parent of such a disk. */
export const dataLostMessage = 'Its data is lost. Delete the Machine to recreate it.';

/** A boot or data disk is missing; `zvol` is its full name. */
export const diskGoneDrift = (zvol: string): Drift =>
  drift('DiskGone', `The disk ${zvol} no longer exists. ${dataLostMessage}`);

/** A filesystem or zvol with our name has lost our mark. */
export const notOwnedDrift = (dataset: string): Drift =>
  drift('OwnedByOthers', `The dataset ${dataset} no longer has our mark, so it is not changed. Find out who uses it.`);
