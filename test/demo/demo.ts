import { applyObjects, awaitAll, explain, look, takeDown, tryAccess } from './acts.ts';
import type { DemoArguments } from './arguments.ts';
import { logIn } from './log-in.ts';
import type { Screen } from './screen.ts';
import { type Closers, startStage } from './stage.ts';
import { stories } from './story.ts';

/** The whole story. `untilInterrupted` is waited for where somebody wants to look around. */
export async function playDemo(
  words: DemoArguments,
  screen: Screen,
  closers: Closers,
  untilInterrupted: () => Promise<void>,
): Promise<void> {
  const stage = await startStage(words.platformKubeconfig, stories[words.platform], screen, closers);
  const objects = await applyObjects(stage, words.apply);
  await awaitAll(stage, objects);
  const granted = await tryAccess(stage, objects, words.apply === undefined);
  const [request] = objects.filter(({ kind }) => kind === 'AccessRequest');
  if (words.apply === undefined && request) {
    objects.push(await logIn(stage, request));
    await stage.story.interlude(stage, objects);
  }
  await look(stage);
  if (words.keep) {
    explain(stage);
    await untilInterrupted();
  }
  await takeDown(stage, objects, granted);
}
