import type { Drift } from '../../../engine/observation.ts';

export const drift = (reason: string, message: string, more: Partial<Drift> = {}): Drift => ({
  ...{ reason, message },
  ...more,
});

/** What is said of a disk with data on it that is not there any more, and of all that was to hold one. */
export const dataLostMessage = 'What was on it is lost. Delete the Machine to have it made anew.';

/** A boot or data disk is not there any more; `zvol` is its full name. */
export const diskGoneDrift = (zvol: string): Drift => drift('DiskGone', `The disk ${zvol} is gone. ${dataLostMessage}`);

/** A filesystem or zvol of our name is not marked as ours any more. */
export const notOwnedDrift = (dataset: string): Drift =>
  drift(
    'OwnedByOthers',
    `The dataset ${dataset} does not carry our mark any more, so it is not touched. Look whose it is.`,
  );
