import { demoUsage, parseDemoArguments } from './arguments.ts';
import { runDemo } from './demo.ts';
import type { CleanupStack } from './demo-context.ts';
import { loopbackProblem } from './loopback.ts';
import { Screen } from './output/screen.ts';

/** `npm run demo`. Exit code 0 on success, 1 on failure, 2 for unknown flags. */
async function main(): Promise<number> {
  let words: ReturnType<typeof parseDemoArguments>;
  try {
    words = parseDemoArguments(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${demoUsage}`);
    return 2;
  }
  if (words === 'help') {
    process.stdout.write(demoUsage);
    return 0;
  }
  const missing = await loopbackProblem();
  if (missing) {
    process.stderr.write(missing);
    return 1;
  }
  const screen = new Screen();
  const closers: CleanupStack = [];
  const interrupted = listenForInterrupt();
  try {
    await Promise.race([runDemo(words, screen, closers, () => interrupted.once()), interrupted.abort]);
    screen.chapter(`Done in ${screen.seconds.toFixed(1)} s.`);
    return 0;
  } catch (error) {
    screen.say();
    screen.say(
      `The demo failed after ${screen.seconds.toFixed(1)} s: ${error instanceof Error ? error.message : String(error)}`,
    );
    return 1;
  } finally {
    for (const close of closers.reverse()) await close();
  }
}

/** Ctrl-C ends a waiting demo in order, and a working one at once. */
function listenForInterrupt(): { once(): Promise<void>; abort: Promise<never> } {
  let waiting: (() => void) | undefined;
  const abort = new Promise<never>((_, reject) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.on(signal, () => {
        if (waiting) waiting();
        else reject(new Error(`interrupted by ${signal}`));
        waiting = undefined;
      });
    }
  });
  abort.catch(() => {
    // The race above handles it; a late rejection has no handler.
  });
  const once = (): Promise<void> =>
    new Promise((resolve) => {
      waiting = resolve;
    });
  return { once, abort };
}

process.exit(await main());
