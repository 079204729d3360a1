import { expect, it } from 'vitest';
import { CallInterceptor } from '../../world/faults/call-interceptor.ts';

function pass(switchboard: CallInterceptor, count: number): string[] {
  for (let i = 1; i <= count; i += 1) switchboard.pass('kube', `GET /${i}`);
  return switchboard.calls.map(({ name }) => name);
}

it('records every call, because tests count them', () => {
  expect(pass(new CallInterceptor(), 1000)).toHaveLength(1000);
});

it('records only the last calls in a long-running process', () => {
  const names = pass(new CallInterceptor({ kept: 10 }), 1000);
  expect(names.length).toBeGreaterThanOrEqual(10);
  expect(names.length).toBeLessThanOrEqual(15);
  expect(names.at(-1)).toBe('GET /1000');
  expect(names.at(-10)).toBe('GET /991');
});
