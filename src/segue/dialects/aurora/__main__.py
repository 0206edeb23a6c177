from segue.dialects.aurora import main

main()
