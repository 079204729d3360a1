export { type NodeSummary, startTalosRunner, type TalosRunner, type TalosRunnerOptions } from './talos-runner.ts';
