import type { DemoScenario } from './demo-scenario.ts';
import { robotScenario } from './robot/robot-scenario.ts';
import { truenasScenario } from './truenas-scenario.ts';

/** The list of all scenarios, by the name on the command line. The first one is the default. */
export const demoScenarios = {
  truenas: truenasScenario,
  'hetzner-robot': robotScenario,
} as const satisfies Record<string, DemoScenario>;
export type DemoPlatform = keyof typeof demoScenarios;
