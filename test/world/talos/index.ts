export { room } from './room.ts';
export { type NodeSummary, type TalosOptions, type TalosRunner, talosRunner } from './runner.ts';
