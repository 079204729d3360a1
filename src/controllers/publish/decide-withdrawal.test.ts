import { describe, expect, it } from 'vitest';
import type { PublicationProblem } from './decide-form.ts';
import { continueWithdrawal, decideWithdrawal, graceSeconds, withdrawalSeconds } from './decide-withdrawal.ts';

const start = new Date('2026-01-01T00:00:00Z');
const at = (seconds: number): Date => new Date(start.getTime() + seconds * 1000);
const held: PublicationProblem = { reason: 'WithdrawalHeld', message: 'Secret a is held by b.' };

describe('M13: the deletion of a Cluster', () => {
  it('waits while a consumer holds an object, and says until when', () => {
    const decision = decideWithdrawal({ withdrawal: { since: start }, left: held, wasPublished: true, now: at(1) });
    expect(decision).toMatchObject({ kind: 'wait', problem: { reason: 'WithdrawalHeld' } });
    const message = 'problem' in decision ? decision.problem.message : '';
    expect(message).toBe(
      'Secret a is held by b. The deletion of the Cluster waits for it until 2026-01-01T00:10:00Z at most.',
    );
  });

  it('goes on after the bound, and says what is left', () => {
    const situation = { withdrawal: { since: start }, left: held, wasPublished: true };
    expect(decideWithdrawal({ ...situation, now: at(withdrawalSeconds - 1) }).kind).toBe('wait');
    expect(decideWithdrawal({ ...situation, now: at(withdrawalSeconds) })).toEqual({
      kind: 'give-up',
      problem: held,
    });
  });

  it('gives consumers a grace period after everything is gone', () => {
    const withdrawal = { since: start, gone: at(5) };
    expect(decideWithdrawal({ withdrawal, left: undefined, wasPublished: true, now: at(6) })).toMatchObject({
      kind: 'wait',
      seconds: 29,
    });
    expect(decideWithdrawal({ withdrawal, left: undefined, wasPublished: true, now: at(5 + graceSeconds) })).toEqual({
      kind: 'done',
    });
  });

  it('does not wait if nothing was published yet', () => {
    const situation = { withdrawal: { since: start, gone: start }, wasPublished: false, now: start };
    expect(decideWithdrawal({ ...situation, left: undefined })).toEqual({ kind: 'done' });
    expect(decideWithdrawal({ ...situation, left: held }).kind).toBe('wait');
  });

  it('records when it has begun and when everything was gone', () => {
    const begun = continueWithdrawal(undefined, held, at(1));
    expect(begun).toEqual({ since: at(1) });
    const gone = continueWithdrawal(begun, undefined, at(2));
    expect(gone).toEqual({ since: at(1), gone: at(2) });
    expect(continueWithdrawal(gone, undefined, at(3))).toEqual(gone);
    expect(continueWithdrawal(gone, held, at(4))).toEqual(begun);
  });

  it('takes times that were recorded before the clock was set back for the present', () => {
    const recorded = { since: at(3600), gone: at(3605) };
    expect(continueWithdrawal(recorded, undefined, at(1))).toEqual({ since: at(1), gone: at(1) });
    expect(continueWithdrawal(recorded, held, at(1))).toEqual({ since: at(1) });
  });
});
