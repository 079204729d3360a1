import type { HostView } from '../../../engine/capabilities/hosts.ts';
import { done, type StepOutcome } from '../../../engine/platform.ts';
import type { RobotServer } from '../api/schema.ts';
import { accountIdFor, type RobotStepContext, textFact } from '../context.ts';

/**
 * What proves that a server runs nothing of its machine. Host, address and Machine are let go with one of these, or when a person
 * vouches for it. That a server is not listed, or not under our name, is no proof: it runs on.
 */
export type ReleaseProof = 'nothing-written' | 'erased' | 'cancelled';

/** Reasons with which a release stops because nothing proves it. A person who agrees to one has the machine let go as it is. */
export const approvableReleaseReasons = [
  'AccountDiffers',
  'ServerUnknown',
  'ServerRenamed',
  'HostLost',
  'RecordLost',
] as const;

/** Nothing is done to the server from here on. */
export const doneUntouchable = (proof: ReleaseProof): StepOutcome => done({ untouchable: true, proof });

/** Nothing is to be done to the server: it is not ours to touch, or a person wants it let go as it is. */
export const isUntouchable = ({ facts }: Pick<RobotStepContext, 'facts'>): boolean =>
  facts['untouchable'] === true || typeof facts['agreed'] === 'string';

/** Whether it is known that the server runs nothing of the machine, or a person has vouched for that. */
export const isReleaseProven = (context: Pick<RobotStepContext, 'facts'>): boolean =>
  textFact(context, 'proof') !== '' || textFact(context, 'agreed') !== '';

/** Whether something may have been written to the disks of its server, by what was written down before the first byte. */
export const wasDiskWritten = (context: Pick<RobotStepContext, 'facts'>): boolean =>
  textFact(context, 'operation') !== '';

/** The Host says that it was written to, and the Machine has lost the record of it: which disk that was is not known. */
export const isRecordLost = (context: Pick<RobotStepContext, 'facts'>, { state }: Pick<HostView, 'state'>): boolean =>
  !wasDiskWritten(context) &&
  typeof context.facts['server'] !== 'number' &&
  (state === 'Provisioned' || state === 'Deprovisioning');

/** A cancelled server runs until the last day that is paid. Of one whose last day is not told, the cancellation is what counts. */
export function hasRentalEnded({ cancelled, paidUntil }: RobotServer, now: Date): boolean {
  const end = Date.parse(paidUntil ?? '');
  return cancelled && !(now.getTime() < end + 24 * 3_600_000);
}

/** Why a server that a machine has is not among those of the account. */
export function explainMissingServer(
  context: Pick<RobotStepContext, 'facts' | 'config' | 'credentials'>,
  number: number | string,
): { readonly reason: 'AccountDiffers' | 'ServerUnknown'; readonly message: string } {
  const secret = context.config.credentialsRef.name;
  const made = textFact(context, 'account');
  if (made !== '' && made !== accountIdFor(context)) {
    const message = `Server ${number} was taken with another login than the one that Secret ${secret} holds now, and the account of this one does not have it. Put a login of the account that has the server into the Secret.`;
    return { reason: 'AccountDiffers', message };
  }
  const message = `The account of Secret ${secret} does not list server ${number}, which proves nothing about the server: it may still run. See whether it was cancelled, erased, or moved to another account.`;
  return { reason: 'ServerUnknown', message };
}
