import { expect, it } from 'vitest';
import type { ExplanationJson } from '../../status/explain/explanation.ts';
import { describeExplanation } from './describe-explanation.ts';

const now = new Date('2026-11-21T09:00:00Z');
const ago = (seconds: number): string => new Date(now.getTime() - seconds * 1000).toISOString();
const cluster = { kind: 'Cluster', namespace: 'shop', name: 'prod' } as const;
const machine = { kind: 'Machine', name: 'prod-cp-0' } as const;
const base: ExplanationJson = {
  object: cluster,
  is: 'a cluster of profile dev.talos.home',
  state: 'ready',
  isReady: true,
  findings: [],
  nextStep: 'Nothing.',
};
const describe = (change: Partial<ExplanationJson>) => describeExplanation({ ...base, ...change }, now);

it('a ready object', () => {
  expect(describe({ since: ago(86_400 * 3) })).toBe(
    'Cluster shop/prod is a cluster of profile dev.talos.home. It is ready (for 3 days). What to do: Nothing.',
  );
});

it('a Cluster that waits for the step of a Machine', () => {
  const text = describe({
    ...{ state: 'being created', isReady: false, since: ago(720) },
    findings: [
      { object: cluster, condition: 'MachinesReady', reason: 'WaitingForMachines', message: 'No machine is ready.' },
      {
        ...{ object: machine, condition: 'Provisioned', reason: 'StepError', message: 'The system does not answer' },
        step: { name: 'vm-created', plan: 'provision', since: ago(180), failures: 1, deadlineMinutes: 30 },
      },
    ],
    ...{ nextStep: 'Nothing at first.', guide: 'docs/troubleshoot.md#machine' },
  });
  expect(text).toBe(
    [
      'Cluster shop/prod is a cluster of profile dev.talos.home. It is being created (for 12 minutes).',
      'It waits for Machine prod-cp-0.',
      'It has been in the step vm-created of its provision for 3 minutes, and has failed once; after 30 minutes there it is reported as overdue.',
      'The condition Provisioned (StepError) says: The system does not answer.',
      'What to do: Nothing at first. See docs/troubleshoot.md#machine.',
    ].join(' '),
  );
});

it('a condition without a step has its age, and an empty message is named', () => {
  const finding = { object: cluster, condition: 'BackedUp', reason: 'BackupFailed', message: ' ', since: ago(7200) };
  expect(describe({ findings: [finding] })).toContain(
    'It is ready. The condition BackedUp (BackupFailed, for 2 hours) says: It has no message. What to do',
  );
});

it('several objects are named from the outside to the inside', () => {
  const object = { kind: 'AccessRequest', namespace: 'shop', name: 'mine' } as const;
  const findings = [object, cluster, machine].map((one) => ({ object: one, message: 'It waits.' }));
  expect(describe({ object, findings })).toContain(
    'It waits for Cluster shop/prod, which waits for Machine prod-cp-0. It waits. What',
  );
});

it('no text controls the terminal or breaks the line', () => {
  const message = 'a\u001b[31m\nb\u202ec\u009bd';
  const text = describe({ findings: [{ object: machine, message }] });
  expect(text).toContain('a [31m b c d.');
  expect(text).not.toMatch(/\p{Cc}|\p{Cf}/u);
});
