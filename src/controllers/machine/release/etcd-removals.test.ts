import { expect, it } from 'vitest';
import { EtcdRemovals } from './etcd-removals.ts';

it('D35: two control planes of one cluster never leave etcd at the same time', async () => {
  const removals = new EtcdRemovals();
  const log: string[] = [];
  let leave = () => {};
  const left = new Promise<void>((resolve) => {
    leave = resolve;
  });
  const leaves = (cluster: string, name: string, until?: Promise<void>) =>
    removals.run(
      cluster,
      async () => {
        log.push(`${name} asks`);
        await until;
        log.push(`${name} has left`);
      },
      new AbortController().signal,
    );
  const [first, second] = [leaves('one', 'a', left), leaves('one', 'b')];
  await leaves('two', 'c');
  expect(log).toEqual(['a asks', 'c asks', 'c has left']);
  leave();
  await Promise.all([first, second]);
  expect(log.slice(3)).toEqual(['a has left', 'b asks', 'b has left']);
});
