import { expect, it, test } from 'vitest';
import { done } from '../../../engine/step.ts';
import { HetznerRobotError } from '../error-codes.ts';
import { runOrWait } from './run-or-wait.ts';

const text = 'POST /reset/{n}: position 7 of 20, in about 9 minutes.';

it.each([
  [540, 300],
  [2.2, 3],
  [0, 1],
  [undefined, 10],
])(
  'a temporary error with a delay of %s seconds becomes a wait with its message, and no failure',
  async (retryAfterSeconds, seconds) => {
    const options = retryAfterSeconds === undefined ? {} : { retryAfterSeconds };
    const outcome = await runOrWait(async () => {
      throw new HetznerRobotError('ROBOT_BUDGET_SPENT', text, options);
    });
    expect(outcome).toEqual({ kind: 'wait', seconds, message: expect.stringContaining(text) });
  },
);

test('other outcomes and errors are unchanged', async () => {
  expect(await runOrWait(async () => done({ a: 1 }))).toEqual(done({ a: 1 }));
  const error = new HetznerRobotError('ROBOT_SERVER_UNKNOWN');
  await expect(runOrWait(() => Promise.reject(error))).rejects.toBe(error);
});
