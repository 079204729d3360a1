import { demonstrateOidcLogin } from './access/oidc-login.ts';
import {
  applyObjects,
  awaitReadyAndGranted,
  deleteAll,
  printInstructions,
  printObjects,
  tryAccess,
} from './actions.ts';
import type { DemoArguments } from './arguments.ts';
import { type CleanupStack, startDemo } from './demo-context.ts';
import { demoScenarios } from './demo-scenarios.ts';
import type { Screen } from './output/screen.ts';

/** The whole demo. Waits for `untilInterrupted` if the user wants to keep it running. */
export async function runDemo(
  words: DemoArguments,
  screen: Screen,
  closers: CleanupStack,
  untilInterrupted: () => Promise<void>,
): Promise<void> {
  const stage = await startDemo(words.platformKubeconfig, demoScenarios[words.platform], screen, closers);
  const objects = await applyObjects(stage, words.apply);
  await awaitReadyAndGranted(stage, objects);
  const granted = await tryAccess(stage, objects, words.apply === undefined);
  const [request] = objects.filter(({ kind }) => kind === 'AccessRequest');
  if (words.apply === undefined && request) {
    objects.push(await demonstrateOidcLogin(stage, request));
    await stage.story.interlude(stage, objects);
  }
  await printObjects(stage);
  if (words.keep) {
    printInstructions(stage);
    await untilInterrupted();
  }
  await deleteAll(stage, objects, granted);
}
