import type { HostView } from '../../../engine/host.ts';
import { done, type StepOutcome } from '../../../engine/step.ts';
import type { RobotServer } from '../api/schema.ts';
import { accountIdFor, type RobotStepContext, textFact } from '../context.ts';

/**
 * Proof that a server runs nothing of its machine. Host, address and Machine are released only with such a proof, or
 * when a user approves it. A server that is not listed, or does not have our mark, proves nothing: it may still run.
 */
export type ReleaseProof = 'nothing-written' | 'erased' | 'cancelled';

/**
 * Reasons with which a release stops without proof. The approval of one releases the machine without further checks.
 */
export const approvableReleaseReasons = [
  'AccountDiffers',
  'ServerUnknown',
  'ServerRenamed',
  'HostLost',
  'RecordLost',
  'RescueSilent',
  'NoReset',
] as const;

/** Those with which a server cannot be brought to its rescue system, to be erased. */
export const deadServerReasons: readonly string[] = ['RescueSilent', 'NoReset'];

/** The server was given up without being erased, because it cannot be reached. */
export const isGivenUp = ({ facts }: Pick<RobotStepContext, 'facts'>): boolean =>
  deadServerReasons.includes(String(facts['approved']));

/** The server is not touched from here on. */
export const doneUntouchable = (proof: ReleaseProof): StepOutcome => done({ untouchable: true, proof });

/**
 * True when the server must not be touched: it is not ours, or a user approved the release without further checks.
 */
export const isUntouchable = ({ facts }: Pick<RobotStepContext, 'facts'>): boolean =>
  facts['untouchable'] === true || typeof facts['approved'] === 'string';

/** True when it is proven, or a user approved it, that the server runs nothing of the machine. */
export const isReleaseProven = (context: Pick<RobotStepContext, 'facts'>): boolean =>
  textFact(context, 'proof') !== '' || textFact(context, 'approved') !== '';

/** True when the disks of the server may have been written to. The fact is recorded before the first byte. */
export const wasDiskWritten = (context: Pick<RobotStepContext, 'facts'>): boolean =>
  textFact(context, 'operation') !== '';

/** The Host records a write that the Machine has no record of: the written disk is unknown. */
export const isRecordLost = (context: Pick<RobotStepContext, 'facts'>, { state }: Pick<HostView, 'state'>): boolean =>
  !wasDiskWritten(context) &&
  typeof context.facts['server'] !== 'number' &&
  (state === 'Provisioned' || state === 'Deprovisioning');

/** A cancelled server runs until the last day that is paid. Where this day is not known, the cancellation counts. */
export function hasRentalEnded({ cancelled, paidUntil }: RobotServer, now: Date): boolean {
  const end = Date.parse(paidUntil ?? '');
  return cancelled && !(now.getTime() < end + 24 * 3_600_000);
}

/** Why a machine's server is not listed in the account. */
export function explainMissingServer(
  context: Pick<RobotStepContext, 'facts' | 'config' | 'credentials'>,
  number: number | string,
): { readonly reason: 'AccountDiffers' | 'ServerUnknown'; readonly message: string } {
  const secret = context.config.credentialsRef.name;
  const made = textFact(context, 'account');
  if (made !== '' && made !== accountIdFor(context)) {
    const message = `Server ${number} was claimed with other credentials than the current ones in Secret ${secret}, whose account does not have the server. Use credentials of the account with the server.`;
    return { reason: 'AccountDiffers', message };
  }
  const message = `The account of Secret ${secret} does not list server ${number}, which may still run. Check whether it was cancelled, erased, or moved to another account.`;
  return { reason: 'ServerUnknown', message };
}
