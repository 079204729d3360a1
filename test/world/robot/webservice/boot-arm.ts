import { randomInt } from 'node:crypto';
import { armed } from '../boot-state.ts';
import type { Account, BootKind, Key, Server } from '../state.ts';
import { worldSeconds } from '../time.ts';
import { bootFacts, keyboards } from './boot-kinds.ts';
import type { Ask } from './endpoint.ts';
import { conflict, invalidInput } from './errors.ts';
import { type FormArray, text, texts } from './form.ts';

/** Arms one configuration for the next network boot. At most one can be armed. Nothing reboots by this. */
export function arm(ask: Ask, server: Server, kind: BootKind): void {
  const { robot, form, account } = ask;
  const { systemField, langs, takesKeys, takesHostname } = bootFacts[kind];
  check(form, kind);
  const keys = takesKeys ? keysIn(account, form) : [];
  if (armed(robot, server) && robot.behaviour.armingWhileArmed === 'refuse') {
    throw conflict('BOOT_ALREADY_ENABLED', 'a boot configuration is active already');
  }
  const hasNoPassword = keys.length > 0 && !robot.behaviour.passwordBesideKeys;
  server.activation = {
    kind,
    system: text(form, systemField) ?? '',
    arch: Number(text(form, 'arch') ?? 64),
    lang: text(form, 'lang') ?? langs?.[0] ?? null,
    hostname: takesHostname ? (text(form, 'hostname') ?? null) : null,
    password: hasNoPassword ? null : newPassword(),
    keys,
    at: worldSeconds(robot),
  };
  server.lastActivations.set(kind, server.activation);
}

function check(form: FormArray, kind: BootKind): void {
  const { systemField, systems, langs, takesHostname } = bootFacts[kind];
  const required = [systemField, ...(langs ? ['lang'] : []), ...(takesHostname ? ['hostname'] : [])];
  const missing = required.filter((name) => (text(form, name) ?? '') === '');
  if (missing.length > 0) throw invalidInput({ missing });
  const allowed: Record<string, readonly string[]> = {
    [systemField]: systems,
    arch: ['64', '32'],
    ...(langs && { lang: langs }),
    ...(kind === 'rescue' && { keyboard: keyboards }),
  };
  const invalid = Object.entries(allowed).flatMap(([name, values]) => {
    const value = text(form, name);
    return value === undefined || values.includes(value) ? [] : [name];
  });
  if (invalid.length > 0) throw invalidInput({ invalid });
}

/** Keys are named by the fingerprints of stored ones; others are not taken. */
function keysIn(account: Account, form: FormArray): Key[] {
  return texts(form, 'authorized_key')
    .filter((one) => one !== '')
    .map((fingerprint) => {
      const key = account.keys.get(fingerprint.toLowerCase());
      if (!key) throw invalidInput({ invalid: ['authorized_key'] });
      return key;
    });
}

function newPassword(): string {
  const alphabet = 'ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789';
  return Array.from({ length: 14 }, () => alphabet[randomInt(alphabet.length)]).join('');
}
