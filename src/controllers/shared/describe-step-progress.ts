import type { AdvanceResult } from '../../engine/advance.ts';
import { ProviderError } from '../../lib/errors.ts';

/** Only errors with a code have a message for users. Other messages may contain anything and go to the log. */
const describeError = (error: unknown): string =>
  error instanceof ProviderError ? error.message : 'Internal error; see the log of the provider.';

/**
 * The current step and the reason of its wait or failure, after the step name if there is one; undefined: all steps are
 * finished.
 */
export function describeStepProgress(verdict: AdvanceResult<string>): string | undefined {
  if (verdict.kind === 'finished') return undefined;
  const { step } = verdict.progress;
  const message = verdict.kind === 'error' ? describeError(verdict.error) : verdict.message;
  return step === '' ? message : `${step}: ${message}`;
}
