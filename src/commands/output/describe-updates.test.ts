import { expect, it } from 'vitest';
import type { PlannedUpdate } from '../../controllers/plan/plan-updates.ts';
import { describeUpdates } from './describe-updates.ts';

const update = (cluster: string, machine: string, fields: readonly string[]): PlannedUpdate => ({
  ...{ cluster, machine, fields },
  ...{ effect: 'restarts', note: 'drained and restarted' },
});

it('lists changes by cluster, and names as many fields of each as fit a line', () => {
  const many = Array.from({ length: 19 }, (_, i) => `field.${i}`);
  expect(describeUpdates([update('a/one', 'cp-0', many), update('b/two', 'cp-0', ['machine.env'])])).toBe(
    [
      'Changes of running machines of a/one, in this order:',
      '  restarts  cp-0: field.0, field.1, field.2, field.3, field.4 and others (drained and restarted)',
      '',
      'Changes of running machines of b/two, in this order:',
      '  restarts  cp-0: machine.env (drained and restarted)',
      '',
      '2 changes, 2 with a restart of the node.',
    ].join('\n'),
  );
});

it('says nothing without a change', () => {
  expect(describeUpdates([])).toBeUndefined();
});
