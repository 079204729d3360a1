import { randomInt } from 'node:crypto';
import type { AccountState, ServerState, StoredSshKey } from '../../state.ts';
import { worldSeconds } from '../../world-time.ts';
import { currentActivation } from '../boot-activation.ts';
import type { WebserviceRequest } from '../endpoint.ts';
import { conflictRobotError, invalidInputError } from '../errors.ts';
import { formText, formTexts } from '../php-form.ts';

/** Arms rescue for the next network boot. At most one configuration can be armed. Arming reboots nothing. */
export function armRescue({ robot, form, account }: WebserviceRequest, server: ServerState): void {
  const system = formText(form, 'os') ?? '';
  if (system === '') throw invalidInputError({ missing: ['os'] });
  // The other systems that Robot offers are not simulated.
  if (system !== 'linux') throw invalidInputError({ invalid: ['os'] });
  const keys = keysOfForm(account, form);
  if (currentActivation(robot, server) && robot.behaviour.armingWhileArmed === 'refuse') {
    throw conflictRobotError('BOOT_ALREADY_ENABLED', 'a boot configuration is active already');
  }
  const hasNoPassword = keys.length > 0 && !robot.behaviour.passwordBesideKeys;
  const password = hasNoPassword ? null : newPassword();
  server.activation = { kind: 'rescue', system, password, keys, at: worldSeconds(robot) };
  server.lastRescue = server.activation;
}

/** Keys are given by the fingerprints of stored keys; other keys are refused. */
function keysOfForm(account: AccountState, form: URLSearchParams): StoredSshKey[] {
  return formTexts(form, 'authorized_key')
    .filter((one) => one !== '')
    .map((fingerprint) => {
      const key = account.keys.get(fingerprint.toLowerCase());
      if (!key) throw invalidInputError({ invalid: ['authorized_key'] });
      return key;
    });
}

function newPassword(): string {
  const alphabet = 'ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789';
  return Array.from({ length: 14 }, () => alphabet[randomInt(alphabet.length)]).join('');
}
