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
  const testbed = await startDemo(words.platformKubeconfig, demoScenarios[words.platform], screen, closers);
  const objects = await applyObjects(testbed, words.apply);
  await awaitReadyAndGranted(testbed, objects);
  const granted = await tryAccess(testbed, objects, words.apply === undefined);
  const [request] = objects.filter(({ kind }) => kind === 'AccessRequest');
  if (words.apply === undefined && request) {
    objects.push(await demonstrateOidcLogin(testbed, request));
    await testbed.story.interlude(testbed, objects);
  }
  await printObjects(testbed);
  if (words.keep) {
    printInstructions(testbed);
    await untilInterrupted();
  }
  await deleteAll(testbed, objects, granted);
}
