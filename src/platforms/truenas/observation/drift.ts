import type { Drift } from '../../../engine/observation.ts';

export const drift = (reason: string, message: string, more: Partial<Drift> = {}): Drift => ({
  ...{ reason, message },
  ...more,
});

/** Message for a lost disk with data, and for a lost parent of such a disk. */
export const dataLostMessage = 'What was on it is lost. Delete the Machine to have it made anew.';

/** A boot or data disk is missing; `zvol` is its full name. */
export const diskGoneDrift = (zvol: string): Drift => drift('DiskGone', `The disk ${zvol} is gone. ${dataLostMessage}`);

/** A filesystem or zvol with our name has lost our mark. */
export const notOwnedDrift = (dataset: string): Drift =>
  drift(
    'OwnedByOthers',
    `The dataset ${dataset} does not carry our mark any more, so it is not touched. Look whose it is.`,
  );
