import { ProviderError } from '../../lib/errors.ts';
import type { Log } from '../../lib/log.ts';

interface StepFailures {
  readonly step: string;
  /** Consecutive failures. */
  readonly failures: number;
}

/** Logs the first failure of a step in a row and every tenth. A bug is logged each time. */
export function logStepError(log: Log, error: unknown, { step, failures }: StepFailures): void {
  if (!(error instanceof ProviderError)) {
    log.error({ step, error }, 'step failed by a fault of ours');
    return;
  }
  const fields = { step, code: error.code, failures };
  if (failures % 10 === 1) log.warn(fields, 'step failed, is tried again');
  else log.debug(fields, 'step failed, is tried again');
}

/** Logs that a step which had failed has not failed this time. */
export function logStepRecovery(log: Log, before: StepFailures | undefined, now: StepFailures | undefined): void {
  if (!before || before.failures === 0 || (now?.step === before.step && now.failures > 0)) return;
  log.info({ step: before.step, failures: before.failures }, 'step works again');
}
