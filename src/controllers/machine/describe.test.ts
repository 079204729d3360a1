import { describe, expect, it } from 'vitest';
import { aMachine } from '../../../test/support/fixtures/builders.ts';
import type { AdvanceResult, Progress } from '../../engine/advance.ts';
import { TrueNasError } from '../../platforms/truenas/error-codes.ts';
import { describeMachineStatus } from './describe.ts';

const now = new Date('2026-11-22T12:00:00Z');
const at = (step: string): Progress => ({
  ...{ plan: 'provision', step, since: now.toISOString(), failures: 1 },
  facts: { address: '192.168.10.21', joined: true },
});
const error = new TrueNasError('TRUENAS_UPLOAD_FAILED', 'It broke.');
const stops: [string, AdvanceResult][] = [
  ['fails', { kind: 'error', progress: at('seed-emptied'), seconds: 5, error, overdue: false }],
  [
    'needs a change',
    { kind: 'failed', progress: at('seed-emptied'), seconds: 600, reason: 'OwnedByOthers', message: 'It is theirs.' },
  ],
];

describe('a member whose platform has pending work', () => {
  const show = (verdict: AdvanceResult, observed: Parameters<typeof describeMachineStatus>[2]) => {
    const { phase, message, conditions } = describeMachineStatus(aMachine(), verdict, observed, now);
    return { phase, message, ...Object.fromEntries(conditions.map(({ type, status }) => [type, status])) };
  };

  it.each(stops)('is Ready and reports the work, even if that %s', (_, verdict) => {
    expect(show(verdict, { drift: [] })).toEqual({
      ...{ Provisioned: 'True', Joined: 'True', Healthy: 'False', Ready: 'True' },
      ...{ phase: 'Ready', message: expect.stringMatching(/^seed-emptied: /) },
    });
  });

  it.each(stops)('is Degraded while it is off, even if that %s', (_, verdict) => {
    const observed = { drift: [{ reason: 'PoweredOff', message: 'It is off.' }], notJoined: 'It is off.' };
    expect(show(verdict, observed)).toMatchObject({ phase: 'Degraded', Joined: 'False', Ready: 'False' });
  });

  it.each(stops)('is not Ready during its provisioning if that %s', (_, verdict) => {
    const onItsWay = { ...verdict, progress: { ...at('powered-on'), facts: {} } } as AdvanceResult;
    expect(show(onItsWay, undefined)).toMatchObject({ Provisioned: 'False', Joined: 'Unknown', Ready: 'False' });
  });
});

it.each([
  ['that this provider has made', {}, 'Runs as it was made.'],
  ['of others', { address: '10.0.0.11' }, 'Runs. Others manage it.'],
])('of a Machine %s that lacks nothing', (_, spec, message) => {
  const machine = aMachine();
  const finished: AdvanceResult = { kind: 'finished', progress: at('await-member') };
  const found = describeMachineStatus({ ...machine, spec: { ...machine.spec, ...spec } }, finished, { drift: [] }, now);
  expect(found).toMatchObject({ phase: 'Ready', message });
});
