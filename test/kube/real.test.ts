import { suite } from './suite.ts';
import { real } from './support/platform.ts';

suite(real);
