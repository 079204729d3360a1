import type { PageFile } from '../server/page-files.ts';

/** The files of the page. The bundle of the program contains them; from source, esbuild makes them. */
export function loadPageFiles(): Promise<readonly PageFile[]>;
