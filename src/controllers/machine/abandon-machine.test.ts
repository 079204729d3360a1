import { describe, expect, it } from 'vitest';
import { aMachine } from '../../../test/support/fixtures/builders.ts';
import type { Machine } from '../../api/machine.ts';
import { annotations } from '../../api/names.ts';
import type { AdvanceResult } from '../../engine/advance.ts';
import { ProviderError } from '../../lib/errors.ts';
import { hetznerRobot } from '../../platforms/hetzner-robot/index.ts';
import { TrueNasError, type TrueNasErrorCode } from '../../platforms/truenas/error-codes.ts';
import { truenas } from '../../platforms/truenas/index.ts';
import { mayAbandonMachine } from './abandon-machine.ts';

const services = { platforms: [truenas, hetznerRobot] };
const progress = {
  plan: 'release',
  step: 'powered-off',
  since: '2026-11-21T09:00:00Z',
  failures: 3,
  facts: {},
} as const;
const failing = (code: TrueNasErrorCode, failures = 3): AdvanceResult => ({
  ...{ kind: 'error', progress: { ...progress, failures }, seconds: 4, overdue: false },
  error: new TrueNasError(code),
});
const parked = (reason: string): AdvanceResult => ({ kind: 'failed', progress, seconds: 600, reason, message: '' });
const waiting: AdvanceResult = { kind: 'waiting', progress, seconds: 2, message: '', overdue: false };

function machine(item: string | undefined, platform = 'truenas'): Machine {
  const { metadata, spec, ...rest } = aMachine();
  const notes = item === undefined ? {} : { [annotations.failureDomainLost]: item };
  return { ...rest, metadata: { ...metadata, annotations: notes }, spec: { ...spec, platform } };
}

describe('a Machine whose failure domain is marked as lost', () => {
  it.each<[string, AdvanceResult | ProviderError]>([
    ['does not answer, three times in a row', failing('TRUENAS_UNREACHABLE')],
    ['is another system', parked('SystemChanged')],
    ['is no longer configured', new TrueNasError('TRUENAS_SYSTEM_UNKNOWN')],
  ])('is released if that %s, and only with the mark', (_, stop) => {
    expect(mayAbandonMachine(services, machine('true'), stop)).toBe(true);
    for (const item of [undefined, '', 'false', 'yes'])
      expect(mayAbandonMachine(services, machine(item), stop)).toBe(false);
    expect(mayAbandonMachine(services, machine('true', 'hetznerRobot'), stop), 'of a bare server').toBe(false);
  });

  it.each(['truenas', 'hetznerRobot'])('is released if its failure domain is no longer known: %s', (platform) => {
    const stop = new ProviderError('PROVIDER_CONFIG_MISSING');
    expect([true, false].map((item) => mayAbandonMachine(services, machine(String(item), platform), stop))).toEqual([
      true,
      false,
    ]);
  });

  it.each<[string, AdvanceResult | ProviderError]>([
    ['has been unreachable for a short time only', failing('TRUENAS_UNREACHABLE', 2)],
    ['answers too late', failing('DEADLINE_EXCEEDED')],
    ['answers and rejects the key', parked('TRUENAS_KEY_REFUSED')],
    ['answers, and its name has another owner', parked('OwnedByOthers')],
    ['answers with another certificate', parked('TRUENAS_FINGERPRINT_DIFFERS')],
    ['has no credentials', new ProviderError('CREDENTIALS_MISSING')],
    ['is working', waiting],
  ])('is not released if that %s', (_, stop) => {
    expect(mayAbandonMachine(services, machine('true'), stop)).toBe(false);
  });
});
