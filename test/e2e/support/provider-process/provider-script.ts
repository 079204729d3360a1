/**
 * The `run` command in a process of its own, whose network and dates a parent controls: started with the options as
 * JSON, see `controlled-provider.ts`. Its log goes to standard error, without debug lines.
 */
import { acceleratedClock } from './accelerated-clock.ts';
import type { ControlledProviderOptions, ControlMessage } from './controlled-provider.ts';
import { runInProcess } from './provider-run.ts';
import { SimulatedNetwork } from './simulated-network.ts';
import { WallClock } from './wall-clock.ts';

const options = JSON.parse(process.argv[2] ?? '{}') as ControlledProviderOptions;
const network = await SimulatedNetwork.open(options.address);
const wallClock = new WallClock();
wallClock.set(options.hoursAhead);
const say = (line: string): void => {
  if (!line.includes('"level":"debug"')) process.stderr.write(line);
};
const clock = acceleratedClock(options.speed);
const run = wallClock.within(() => network.within(() => runInProcess({ ...options, clock, say })));

process.on('message', (message: ControlMessage) => {
  if (message.kind === 'cut') network.cut(message.fault, { to: new RegExp(message.to) });
  if (message.kind === 'heal') network.heal();
  if (message.kind === 'clock') wallClock.set(message.hoursAhead);
  // So that the memory that is measured is in use.
  if (message.kind === 'collect') globalThis.gc?.();
  process.send?.(message.id);
});
process.on('SIGTERM', () => run.stop());
// Without its parent nobody reads its log.
process.on('disconnect', () => process.exit(1));
await run.ended.then(
  () => process.exit(0),
  () => process.exit(1),
);
