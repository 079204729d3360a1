import type { AdvanceResult } from '../../engine/advance.ts';
import { ProviderError } from '../../lib/errors.ts';

/** Only errors with a code speak to people; others may hold anything and are for the log. */
const describeError = (error: unknown): string =>
  error instanceof ProviderError ? error.message : 'Something went wrong inside the provider; see its log.';

/** Where a walk stands and why, after the name of its step if it has come to one; undefined: it has come to its end. */
export function describeStepProgress(verdict: AdvanceResult<string>): string | undefined {
  if (verdict.kind === 'finished') return undefined;
  const { step } = verdict.progress;
  const message = verdict.kind === 'error' ? describeError(verdict.error) : verdict.message;
  return step === '' ? message : `${step}: ${message}`;
}
