import { ProviderError } from '../../../lib/errors.ts';
import type { SecretString } from '../../../lib/secret-string.ts';
import type { TalosClient } from '../../client/client.ts';
import type { TalosCallOptions } from '../../client/connection.ts';
import { isAtLeastMinor } from '../../versions.ts';
import { needsBoot } from './change-class.ts';
import type { ConfigChange } from './config-changes.ts';

/** What a running node makes of a changed configuration. `rejection`: it rejects it, without secrets. */
export interface AssessedChanges {
  readonly changes: readonly ConfigChange[];
  readonly rejection?: string;
}

/**
 * Asks the node what it makes of a configuration that differs from its own: whether it accepts it at all, and, before
 * Talos 1.14, whether it would restart for it. Talos 1.14 does not say that, so the fields decide.
 */
export async function assessChanges(
  node: Pick<TalosClient, 'tryConfiguration'>,
  { desired, changes, version }: AssessmentInput,
  options: TalosCallOptions,
): Promise<AssessedChanges> {
  if (changes.length === 0) return { changes };
  try {
    const mode = await node.tryConfiguration(desired, options);
    return { changes: isAtLeastMinor(version, '1.14') ? changes : changes.map((one) => asAnswered(one, mode)) };
  } catch (error) {
    if (!(error instanceof ProviderError) || error.code !== 'TALOS_CONFIG_REFUSED') throw error;
    return { changes, rejection: error.message };
  }
}

interface AssessmentInput {
  readonly desired: SecretString;
  readonly changes: readonly ConfigChange[];
  /** The version of Talos that the node runs. */
  readonly version: string;
}

/** The answer is about the whole configuration: with one field that needs a reboot, none is applied without it. */
function asAnswered(change: ConfigChange, mode: 'no-reboot' | 'reboot'): ConfigChange {
  if (mode === 'reboot') return change.class === 'live' ? { ...change, class: 'restart' } : change;
  return change.class === 'restart' && !needsBoot(change.field) ? { ...change, class: 'live' } : change;
}
