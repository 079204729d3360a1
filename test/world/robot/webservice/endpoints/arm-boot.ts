import { randomInt } from 'node:crypto';
import type { AccountState, BootConfigKind, ServerState, StoredSshKey } from '../../state.ts';
import { worldSeconds } from '../../world-time.ts';
import { currentActivation } from '../boot-activation.ts';
import type { WebserviceRequest } from '../endpoint.ts';
import { conflictRobotError, invalidInputError } from '../errors.ts';
import { type FormArray, formText, formTexts } from '../php-form.ts';
import { bootKindDescriptions, rescueKeyboards } from './boot-kinds.ts';

/** Arms one configuration for the next network boot. At most one can be armed. Arming reboots nothing. */
export function armBoot(ask: WebserviceRequest, server: ServerState, kind: BootConfigKind): void {
  const { robot, form, account } = ask;
  const { systemField, langs, takesKeys, takesHostname } = bootKindDescriptions[kind];
  checkForm(form, kind);
  const keys = takesKeys ? keysOfForm(account, form) : [];
  if (currentActivation(robot, server) && robot.behaviour.armingWhileArmed === 'refuse') {
    throw conflictRobotError('BOOT_ALREADY_ENABLED', 'a boot configuration is active already');
  }
  const hasNoPassword = keys.length > 0 && !robot.behaviour.passwordBesideKeys;
  server.activation = {
    kind,
    system: formText(form, systemField) ?? '',
    arch: Number(formText(form, 'arch') ?? 64),
    lang: formText(form, 'lang') ?? langs?.[0] ?? null,
    hostname: takesHostname ? (formText(form, 'hostname') ?? null) : null,
    password: hasNoPassword ? null : newPassword(),
    keys,
    at: worldSeconds(robot),
  };
  server.lastActivations.set(kind, server.activation);
}

function checkForm(form: FormArray, kind: BootConfigKind): void {
  const { systemField, systems, langs, takesHostname } = bootKindDescriptions[kind];
  const required = [systemField, ...(langs ? ['lang'] : []), ...(takesHostname ? ['hostname'] : [])];
  const missing = required.filter((name) => (formText(form, name) ?? '') === '');
  if (missing.length > 0) throw invalidInputError({ missing });
  const allowed: Record<string, readonly string[]> = {
    [systemField]: systems,
    arch: ['64', '32'],
    ...(langs && { lang: langs }),
    ...(kind === 'rescue' && { keyboard: rescueKeyboards }),
  };
  const invalid = Object.entries(allowed).flatMap(([name, values]) => {
    const value = formText(form, name);
    return value === undefined || values.includes(value) ? [] : [name];
  });
  if (invalid.length > 0) throw invalidInputError({ invalid });
}

/** Keys are given by the fingerprints of stored keys; other keys are refused. */
function keysOfForm(account: AccountState, form: FormArray): StoredSshKey[] {
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
